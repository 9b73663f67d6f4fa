"""The parts of README.md and docs that are made from the code; `python -m tests.readme` writes them anew."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from dagentd import cli
from dagentd import settings as config
from dagentd.cli.examples import shown
from dagentd.cli.manual import every_command
from dagentd.doctor.kinds import KINDS, Kind
from dagentd.model.documents import AgentDescription, Chat, Checkpoint, Context, Document, Session
from dagentd.model.project import DOCUMENTS
from dagentd.settings.tables import PROJECT_MAY_SET, RULES
from tests import socket_page

README = Path(__file__).parents[1] / "README.md"
DOCS = README.parent / "docs"
PAGES = (README, *sorted(DOCS.glob("*.md")))
COMMANDS, CONTRIBUTING, DIFFERENCES, FORMATS = (
    DOCS / f"{name}.md" for name in ("commands", "contributing", "differences", "formats")
)
PROMISES, SETTINGS, SOCKET, TROUBLESHOOTING = (
    DOCS / f"{name}.md" for name in ("promises", "settings", "socket", "troubleshooting")
)
SHAPES: dict[str, type[Document]] = dict(
    zip(DOCUMENTS, (Session, Chat, Checkpoint, Context, AgentDescription), strict=True)
)


# --- commands -----------------------------------------------------------------------------------------------


def commands() -> str:
    rows = [f"| [`dagentd {name}`](#dagentd-{name}) | {line} |" for name, (_, line) in cli.COMMANDS.items()]
    return "\n".join(["| command | what it does |", "|---|---|", *rows])


def each_command() -> str:
    """Every command with what its --help says."""
    _, *below = every_command()
    return "\n\n".join("\n\n".join(_command(name, ctx)) for name, ctx in below)


def _command(name: str, ctx: click.Context) -> Iterator[str]:
    usage = [piece for piece in ctx.command.collect_usage_pieces(ctx) if piece != "[OPTIONS]"]
    yield f"{'###' if ' ' in name else '##'} dagentd {name}"
    if not isinstance(ctx.command, click.Group):
        yield f"`{' '.join(('dagentd', name, *usage))}`"
    yield from _paragraphs(ctx.command.help or "")
    options = [each for each in ctx.command.params if isinstance(each, click.Option) and not each.hidden]
    records = [record for each in options if (record := each.get_help_record(ctx))]
    if records:
        yield "\n".join(
            ["| option | what it does |", "|---|---|", *(f"| `{_cell(a)}` | {_cell(b)} |" for a, b in records)]
        )
    if examples := shown(name):
        yield "\n".join(["```console", *(f"$ {line}" for line in examples), "```"])


def _paragraphs(text: str) -> Iterator[str]:
    """As click reads them: what follows a backspace keeps its lines."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        lines = paragraph.splitlines()
        kept = [line.strip() for line in lines if line.strip() != "\b"]
        yield "\n".join(kept) if len(kept) == len(lines) else "\n".join(["```text", *kept, "```"])


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


# --- tables -------------------------------------------------------------------------------------------------


def settings() -> str:
    """A star is for what a repository may set for itself."""
    values = config.values(config.Settings())
    names = {key: f"`{key}`" + (" \\*" if key in PROJECT_MAY_SET else "") for key in RULES}
    rows = [f"| {names[key]} | {_toml(values[key])} | {rule.about} | {rule.allowed} |" for key, rule in RULES.items()]
    return "\n".join(["| setting | default | what it is | what it may be |", "|---|---|---|---|", *rows])


def _toml(value: object) -> str:
    return f"`{json.dumps(list(value) if isinstance(value, tuple) else value)}`"


def documents() -> str:
    rows = [f"| `{name}_{{id}}.json` | {_fields(shape)} |" for name, shape in SHAPES.items()]
    return "\n".join(["| file | fields |", "|---|---|", *rows])


def _fields(shape: type[Document]) -> str:
    return ", ".join(f"`{name}`" for name in shape.model_json_schema(by_alias=True)["properties"])


def problems() -> str:
    rows = [f"| `{_name(each)}` | {each.cause} | {_remedy(each)} |" for each in KINDS.values()]
    return "\n".join(["| id | cause | what to do |", "|---|---|---|", *rows])


def _name(kind: Kind) -> str:
    return f"{kind.id}…" if kind.id.endswith("-") else kind.id


def _remedy(kind: Kind) -> str:
    """What is a command alone is set as one; the star is for what `--fix` does."""
    words = kind.remedy if kind.remedy.endswith(".") or "`" in kind.remedy else f"`{kind.remedy}`"
    return words + (" \\*" if kind.mend else "")


# --- the map of the rooms -----------------------------------------------------------------------------------


def rooms() -> str:
    """Every folder of the program and every module at its top, with the first sentence of what it says of itself."""
    top = README.parent / "dagentd"
    modules = sorted(path for path in top.glob("*.py") if not path.name.startswith("__"))
    packages = sorted(path.parent for path in top.rglob("*/__init__.py"))
    rows = [(path.name, path) for path in modules]
    rows += [
        (f"{'  ' * (len(path.relative_to(top).parts) - 1)}{path.name}/", path / "__init__.py") for path in packages
    ]
    width = max(len(name) for name, _ in rows)
    return "\n".join(["```text", "dagentd/", *(f"  {name:{width}}  {_sentence(path)}" for name, path in rows), "```"])


def _sentence(module: Path) -> str:
    said = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""
    return re.split(r"(?<=\.)\s", " ".join(said.split()))[0]


PARTS: dict[Path, tuple[Callable[[], str], ...]] = {
    COMMANDS: (commands, each_command),
    CONTRIBUTING: (rooms,),
    FORMATS: (documents,),
    SETTINGS: (settings,),
    SOCKET: (
        socket_page.errors, socket_page.events, socket_page.methods, socket_page.reference, socket_page.shapes,
    ),
    TROUBLESHOOTING: (problems,),
}  # fmt: skip


def current(page: Path) -> str:
    """A page as it should be."""
    text = page.read_text(encoding="utf-8")
    for part in PARTS.get(page, ()):
        name, made = part.__name__, part()
        begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        head, rest = text.split(begin)
        text = head + begin + made + "\n" + end + rest.split(end, 1)[1]
    return text


if __name__ == "__main__":
    for each in PAGES:
        each.write_text(current(each), encoding="utf-8")
