"""The table of completion, made from the commands; `python -m tests.words` writes it anew."""

from __future__ import annotations

import json
from typing import Any, get_args

import click

from dagentd.cli.completion.grammar import TABLE, Kind
from dagentd.cli.manual import every_command
from dagentd.events import EventType
from dagentd.rpc.methods import METHODS

_READ = "session|gone"  # what reads a session reads those that are gone too
_READERS = {"show", "messages", "history", "export", "forget", "search"}
# By the name of a parameter, or by its command and name where that is another thing elsewhere.
_OWN: dict[str, Kind] = {
    "session": "session", "worktree": "worktree", "feature": "feature", "restore session": "gone",
    "pause what": "session|project", "resume what": "session|project", "call method": list(METHODS),
    "events types": list(get_args(EventType)), "remove where": "project", "agx cleanup names": "agx",
}  # fmt: skip
_KINDS = _OWN | {f"{name} session": _READ for name in _READERS}


def current() -> str:
    """words.json as it should be: one command a line."""
    lines = [json.dumps({name: _words(name, ctx)}, ensure_ascii=False)[1:-1] for name, ctx in every_command()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _words(name: str, ctx: click.Context) -> dict[str, Any]:
    command = ctx.command
    options = [each for each in command.params if isinstance(each, click.Option) and not each.hidden]
    spelt = {word: [_kind(name, each), each.help or ""] for each in options for word in each.opts}
    spelt |= {word: [None, "Show this message and exit."] for word in ("-h", "--help")}
    found: dict[str, Any] = {"options": spelt}
    if isinstance(command, click.Group):
        found["commands"] = {each: _line(command, ctx, each) for each in command.list_commands(ctx)}
    else:
        arguments = [each for each in command.params if isinstance(each, click.Argument)]
        found["arguments"] = [[_kind(name, each), each.nargs == -1] for each in arguments]
    return found


def _line(group: click.Group, ctx: click.Context, name: str) -> str:
    command = group.get_command(ctx, name)
    assert command is not None
    return command.get_short_help_str(200)


def _kind(command: str, param: click.Parameter) -> Kind | None:
    """None for an option that takes no value."""
    if isinstance(param, click.Option) and (param.is_flag or param.count):
        return None
    known = _KINDS.get(f"{command} {param.name}")
    if known is not None:
        return known
    if isinstance(param.type, click.Choice):
        return [str(each) for each in param.type.choices]
    if command.startswith("agx ") and param.name == "session":
        return "agx"
    if "--project" in param.opts:
        return "project"
    if isinstance(param.type, click.Path):
        return "file" if param.name == "target" else "folder"
    return _KINDS.get(param.name or "", "")


if __name__ == "__main__":
    TABLE.write_text(current(), encoding="utf-8")
