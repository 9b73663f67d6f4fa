"""The parts of README.md that are made from the code; `python -m tests.readme` writes them anew."""

from __future__ import annotations

from pathlib import Path

from dagentd import cli
from dagentd.doctor.kinds import KINDS, Kind
from dagentd.rpc.methods import METHODS, Method

README = Path(__file__).parents[1] / "README.md"


def commands() -> str:
    rows = [f"| `dagentd {name}` | {line} |" for name, (_, line) in cli.COMMANDS.items()]
    return "\n".join(["| command | what it does |", "|---|---|", *rows])


def methods() -> str:
    rows = [f"| `{method.name}` | {_params(method)} | {method.summary} |" for method in METHODS.values()]
    return "\n".join(["| method | parameters | what it does |", "|---|---|---|", *rows])


def problems() -> str:
    rows = [f"| `{_name(each)}` | {each.cause} | {_remedy(each)} |" for each in KINDS.values()]
    return "\n".join(["| id | cause | what to do |", "|---|---|---|", *rows])


def _name(kind: Kind) -> str:
    return f"{kind.id}…" if kind.id.endswith("-") else kind.id


def _remedy(kind: Kind) -> str:
    """What is a command alone is set as one; the star is for what `--fix` does."""
    words = kind.remedy if kind.remedy.endswith(".") or "`" in kind.remedy else f"`{kind.remedy}`"
    return words + (" \\*" if kind.mend else "")


def _params(method: Method) -> str:
    schema = method.params.model_json_schema(by_alias=True)
    required = schema.get("required", [])
    names = [name if name in required else f"{name}?" for name in schema.get("properties", {})]
    return ", ".join(f"`{name}`" for name in names)


def current() -> str:
    """README.md as it should be."""
    text = README.read_text(encoding="utf-8")
    for name, made in (("commands", commands()), ("methods", methods()), ("problems", problems())):
        begin, end = f"<!-- {name} -->\n", f"\n<!-- /{name} -->"
        head, rest = text.split(begin)
        text = head + begin + made + end + rest.split(end, 1)[1]
    return text


if __name__ == "__main__":
    README.write_text(current(), encoding="utf-8")
