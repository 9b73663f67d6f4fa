"""The parts of README.md and docs that are made from the code; `python -m tests.readme` writes them anew."""

from __future__ import annotations

import json
from pathlib import Path

from dagentd import cli
from dagentd import settings as config
from dagentd.doctor.kinds import KINDS, Kind
from dagentd.model.documents import AgentDescription, Chat, Checkpoint, Context, Document, Session
from dagentd.model.project import DOCUMENTS
from dagentd.rpc.methods import METHODS, Method
from dagentd.settings.tables import PROJECT_MAY_SET, RULES

README = Path(__file__).parents[1] / "README.md"
FORMATS, DIFFERENCES = README.parent / "docs" / "formats.md", README.parent / "docs" / "differences.md"
PAGES = (README, FORMATS, DIFFERENCES)
SHAPES: dict[str, type[Document]] = dict(
    zip(DOCUMENTS, (Session, Chat, Checkpoint, Context, AgentDescription), strict=True)
)


def commands() -> str:
    rows = [f"| `dagentd {name}` | {line} |" for name, (_, line) in cli.COMMANDS.items()]
    return "\n".join(["| command | what it does |", "|---|---|", *rows])


def methods() -> str:
    rows = [f"| `{method.name}` | {_params(method)} | {method.summary} |" for method in METHODS.values()]
    return "\n".join(["| method | parameters | what it does |", "|---|---|---|", *rows])


def settings() -> str:
    """A star is for what a repository may set for itself."""
    values = config.values(config.Settings())
    names = {key: f"`{key}`" + (" \\*" if key in PROJECT_MAY_SET else "") for key in RULES}
    rows = [f"| {names[key]} | {_toml(values[key])} | {rule.about} | {rule.allowed} |" for key, rule in RULES.items()]
    return "\n".join(["| setting | default | what it is | what it may be |", "|---|---|---|---|", *rows])


def documents() -> str:
    rows = [f"| `{name}_{{id}}.json` | {_fields(shape)} |" for name, shape in SHAPES.items()]
    return "\n".join(["| file | fields |", "|---|---|", *rows])


def _fields(shape: type[Document]) -> str:
    return ", ".join(f"`{name}`" for name in shape.model_json_schema(by_alias=True)["properties"])


def _toml(value: object) -> str:
    return f"`{json.dumps(list(value) if isinstance(value, tuple) else value)}`"


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


def current(page: Path) -> str:
    """A page as it should be."""
    text = page.read_text(encoding="utf-8")
    for part in (commands, methods, settings, problems) if page == README else (documents,) if page == FORMATS else ():
        name, made = part.__name__, part()
        begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        head, rest = text.split(begin)
        text = head + begin + made + "\n" + end + rest.split(end, 1)[1]
    return text


if __name__ == "__main__":
    for each in PAGES:
        each.write_text(current(each), encoding="utf-8")
