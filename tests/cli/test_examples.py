"""Every command has an example that it accepts, in its --help and in the manual."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from dagentd import __version__, cli
from dagentd.cli.examples import EXAMPLES, shown
from dagentd.cli.manual import every_command, page
from tests.patience import patience

COMMANDS = dict(every_command())
LINES = [(name, line) for name, lines in EXAMPLES.items() for line in lines]
_ENDS = ("|", ">", ">>", ")", "&&", ";")


def command_lines(line: str) -> Iterator[list[str]]:
    """The arguments of each `dagentd` in a line for a shell, also of one that is in quotes."""
    words = shlex.shlex(line, posix=True, punctuation_chars="|>;&")
    words.whitespace_split = True
    given: list[str] | None = None
    for word in (*words, ";"):
        if given is not None and word in _ENDS:
            yield given
            given = None
        elif given is not None:
            given.append(os.path.expanduser(word))
        elif word == "dagentd":
            given = []
        elif "$(dagentd " in word:
            yield shlex.split(word[word.index("$(dagentd ") + 10 :].split(")")[0])


def accept(args: list[str]) -> str:
    """The full name of the command that takes these arguments; a click.ClickException if none does."""
    ctx, names = click.Context(cli.root, info_name="dagentd"), []
    command: click.Command | None = cli.root
    while isinstance(command, click.Group):
        name, command, args = command.resolve_command(ctx, args)
        names.append(name or "")
        assert command is not None
        if isinstance(command, click.Group):
            ctx = click.Context(command, parent=ctx, info_name=name)
    assert command is not None
    command.make_context(names[-1], args, parent=ctx)
    return " ".join(names)


@pytest.fixture
def shop(home: Path) -> None:
    """What the examples are about."""
    (home / "shop").mkdir()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_one_below_its_help(name: str) -> None:
    assert EXAMPLES.get(name), f"add one for {name!r} to dagentd/cli/examples.py"
    told = COMMANDS[name].get_help()
    assert told.endswith("\n".join(f"    {line}" for line in shown(name)))


def test_no_example_is_of_a_command_that_is_not_there() -> None:
    assert EXAMPLES.keys() <= COMMANDS.keys()


@pytest.mark.parametrize(("name", "line"), LINES)
def test_it_is_accepted(name: str, line: str, shop: None) -> None:
    found = [accept(args) for args in command_lines(line)]
    assert found, line
    if name:
        assert all(f"{each} ".startswith(f"{name} ") for each in found)


@pytest.mark.parametrize("wrong", ["dagentd shwo x", "dagentd show", "dagentd pause --for soon", "dagentd init ~/none"])
def test_what_is_wrong_is_not_accepted(wrong: str) -> None:
    with pytest.raises(click.ClickException):
        for args in command_lines(wrong):
            accept(args)


@pytest.mark.parametrize("name", COMMANDS)
def test_it_fits_into_80_columns(name: str) -> None:
    assert max(map(len, shown(name))) <= 76


# --- the manual ---------------------------------------------------------------------------------------------------


def manual() -> str:
    return "\n".join(page()) + "\n"


def read(*command: str) -> str:
    """As a program shows it, without what it does to make letters bold."""
    environment = {**os.environ, "MANWIDTH": "200", "LC_ALL": "C.UTF-8", "MANROFFOPT": "-rHY=0", "GROFF_NO_SGR": "1"}
    done = subprocess.run(command, input=manual(), capture_output=True, text=True, env=environment, timeout=patience())
    assert (done.returncode, done.stderr) == (0, "")
    shown = done.stdout
    while "\b" in shown:
        at = shown.index("\b")
        shown = shown[: at - 1] + shown[at + 1 :]
    return shown


@pytest.mark.parametrize(
    "command", [("man", "-l", "-"), ("mandoc", "-man", "-Tutf8", "-Owidth=200"), ("groff", "-man", "-Tutf8", "-ww")]
)
def test_programs_read_the_manual(command: tuple[str, ...]) -> None:
    if shutil.which(command[0]) is None:
        pytest.skip(f"there is no {command[0]} here")
    lines = [" ".join(line.split()) for line in read(*command).splitlines()]
    for name in ("NAME", "SYNOPSIS", "COMMANDS", "EXAMPLES", "EXIT STATUS", "FILES", "ENVIRONMENT"):
        assert name in lines
    for name, ctx in COMMANDS.items():
        usage = [piece for piece in ctx.command.collect_usage_pieces(ctx) if piece != "[OPTIONS]"]
        if name:
            assert " ".join(("dagentd", name, *usage)) in lines
        assert all(" ".join(each.split()) in lines for each in EXAMPLES[name])


def test_no_line_of_the_manual_is_taken_for_a_request() -> None:
    """Each line that begins with a dot is one of ours, and every backslash begins an escape that we write."""
    requests = {line.split()[0] for line in manual().splitlines() if line.startswith((".", "'"))}
    assert requests <= {".TH", ".SH", ".SS", ".PP", ".TP", ".B", ".I", ".nf", ".fi", ".RS", ".RE"}
    rest = manual()
    for escape in (r"\fB", r"\fI", r"\fR", r"\-", r"\&", r"\e", r"\(dq"):
        rest = rest.replace(escape, "")
    assert "\\" not in rest
    assert f"dagentd {__version__}" in manual().splitlines()[0]
