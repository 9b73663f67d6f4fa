"""Keys by name."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from dagentd.cli.top.screen import names
from tests.e2e.terminal import Terminal


@pytest.mark.parametrize(
    ("typed", "keys"),
    [
        ("j", ["j"]),
        ("\x1b[A\x1b[B\x1bOA", ["up", "down", "up"]),
        ("\x1b[5~\x1b[6~", ["pageup", "pagedown"]),
        ("\r\n", ["enter", "enter"]),
        ("\x1b", ["escape"]),
        ("cy", ["c", "y"]),
        ("\x1b[1;5Cq", ["q"]),
    ],
)
def test_keys_have_names(typed: str, keys: list[str]) -> None:
    assert names(typed) == keys


def test_a_crash_gives_the_terminal_back_before_it_is_told(tmp_path: Path) -> None:
    script = "from dagentd.cli.top.screen import Screen\nwith Screen().taken():\n    raise KeyError('here')"
    terminal = Terminal([sys.executable, "-c", script], tmp_path, os.environ)
    assert terminal.end() == 1
    taken, given, told = (terminal.said.index(text) for text in ("\x1b[?1049h", "\x1b[?1049l", "KeyError"))
    assert taken < given < told
