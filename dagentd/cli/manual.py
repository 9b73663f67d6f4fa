"""`dagentd man`: the manual page, made of what --help says of every command."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator

import click

from dagentd import __version__
from dagentd.cli import output, root
from dagentd.cli.examples import shown

# Every command of dagentd, one after the other: for what is made from all of them. Loads them all.


def every_command() -> Iterator[tuple[str, click.Context]]:
    """Each with its name after `dagentd`, groups before what is in them; the first is `dagentd` itself."""
    yield from _below("", click.Context(root, info_name="dagentd", **root.context_settings))


def _below(name: str, ctx: click.Context) -> Iterator[tuple[str, click.Context]]:
    yield name, ctx
    if isinstance(ctx.command, click.Group):
        for each in ctx.command.list_commands(ctx):
            command = ctx.command.get_command(ctx, each)
            assert command is not None
            yield from _below(f"{name} {each}".strip(), click.Context(command, parent=ctx, info_name=each))


_EXITS = (
    ("0", "done"), ("1", "problems were found, or something could not be done"), ("2", "wrong usage"),
    ("3", "the daemon cannot be reached"), ("70", "a bug in dagentd; its log has the details"), ("130", "interrupted"),
)  # fmt: skip
_FILES = (
    ("$XDG_CONFIG_HOME/dagentd/config.toml", "your settings; ~/.config without the variable"),
    (".dagent/config.toml", "what a repository sets for itself"),
    ("$XDG_STATE_HOME/dagentd/", "registry, index, ledger, log and lock; ~/.local/state without the variable"),
    ("$XDG_RUNTIME_DIR/dagentd/dagentd.sock", "the socket"),
    ("dagentd/ in the git folder of a repository", "kept journals, pauses, what git hooks leave, lock"),
)
_VARIABLES = (
    ("DAGENTD_SOCKET", "another path for the socket, for daemon and commands"),
    ("DAGENTD_API_KEY", "the key with which compaction may ask a model"),
    ("NO_COLOR", "no colours"),
)


@click.command()
def man() -> None:
    """Print the manual page, for man to show."""
    output.text("\n".join(page()))


def page() -> Iterator[str]:

    (_, whole), *commands = every_command()
    yield f'.TH DAGENTD 1 "" "dagentd {_text(__version__)}" "User Commands"'
    yield from (".SH NAME", f"dagentd \\- {_text(_first(whole.command))}")
    yield from (".SH SYNOPSIS", r".B dagentd", r".I COMMAND", r"[\fIOPTIONS\fR] [\fIARGUMENTS\fR]")
    yield from (".SH DESCRIPTION", *_paragraphs(_ABOUT))
    yield ".SH COMMANDS"
    for name, ctx in commands:
        yield from _command(name, ctx)
    yield from (".SH EXAMPLES", *_literally(shown("")))
    for heading, rows in (("EXIT STATUS", _EXITS), ("FILES", _FILES), ("ENVIRONMENT", _VARIABLES)):
        yield f".SH {heading}"
        yield from _terms(rows)


_ABOUT = """\
Agents work in git worktrees under .dagent-worktrees/, and each keeps its conversation there, in .dagent. The desktop
app and the agents write those files by truncating them. dagentd gives every session a journal beside them, and makes
the files from it: nothing said is lost, and every file is whole, whoever else writes to it.

Each command has --help and, where it prints data, --json. Only `init`, `start` and `restart` start the daemon; what
the daemon does by itself, a command does on demand, through the daemon if one runs."""


def _command(name: str, ctx: click.Context) -> Iterator[str]:
    usage = [piece for piece in ctx.command.collect_usage_pieces(ctx) if piece != "[OPTIONS]"]
    yield f'.SS "{_quotable(" ".join(("dagentd", name, *usage)))}"'
    yield from _paragraphs(inspect.cleandoc(ctx.command.help or ""))
    options = [each for each in ctx.command.params if isinstance(each, click.Option) and not each.hidden]
    yield from _terms(record for each in options if (record := each.get_help_record(ctx)) is not None)
    if lines := shown(name):
        yield from (".PP", "Examples:" if len(lines) > 1 else "Example:", *_literally(lines))


def _paragraphs(text: str) -> Iterator[str]:
    """As click reads them: what follows a backspace keeps its lines."""
    for paragraph in text.split("\n\n"):
        lines = [line for line in paragraph.splitlines() if line.strip() != "\b"]
        if len(lines) < len(paragraph.splitlines()):
            yield from _literally(line.strip() for line in lines)
        elif lines:
            yield from (".PP", _marked(" ".join(line.strip() for line in lines)))


def _literally(lines: Iterable[str]) -> Iterator[str]:
    yield from (".PP", ".RS 4", ".nf", *map(_line, lines), ".fi", ".RE")


def _terms(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    for term, told in rows:
        yield from (".TP", rf"\fB{_text(term)}\fR", _marked(" ".join(told.split())))


def _first(command: click.Command) -> str:
    return (command.help or "").split("\n\n")[0].strip().removesuffix(".")


def _marked(text: str) -> str:
    """`Names` stand out."""
    return re.sub(r"`([^`]+)`", r"\\fB\1\\fR", _line(text))


def _line(text: str) -> str:
    """A line of text; a dot or an apostrophe at its beginning would be a request."""
    return rf"\&{_text(text)}" if text.startswith((".", "'")) else _text(text)


def _text(text: str) -> str:
    return text.replace("\\", r"\e").replace("-", r"\-")


def _quotable(text: str) -> str:
    return _text(text).replace('"', r"\(dq")
