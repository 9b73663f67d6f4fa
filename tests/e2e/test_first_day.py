"""A first day with dagentd is as first_day.md shows it, and every command that it names on the way can be typed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from dagentd import cli
from dagentd.adapters.git.command import are_configurable
from tests.e2e.transcript import parsed, played

DAY = Path(__file__).with_name("first_day.md")
_NAMED = re.compile(r"`(dagentd [^`]+)`|^Try: (dagentd .+)$", re.MULTILINE)


def hints() -> set[str]:
    """The commands that are named in what is printed, lines that were broken for the terminal put together."""
    printed = ["\n".join(part.printed) for part in parsed(DAY.read_text(encoding="utf-8"))]
    found = (one or other for text in printed for one, other in _NAMED.findall(text))
    return {" ".join(each.split()) for each in found}


@pytest.mark.skipif(
    are_configurable(), reason="this git keeps hooks in its configuration; the day is of one with files"
)
def test_the_day_is_as_it_is_shown() -> None:
    written = DAY.read_text(encoding="utf-8")
    assert played(written) == written, "look at the difference, and write down what is right"


def test_it_names_commands() -> None:
    assert len(hints()) >= 8


@pytest.mark.parametrize("hint", sorted(hints()))
def test_each_command_that_it_names_can_be_typed(hint: str) -> None:
    """What it names is parsed as if it were typed; the day itself types most of them."""
    _, name, *arguments = shlex.split(hint)
    command = cli.root.get_command(click.Context(cli.root), name)
    assert command is not None
    with command.make_context(name, arguments):
        pass
