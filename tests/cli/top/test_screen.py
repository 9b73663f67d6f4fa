"""Keys by name."""

from __future__ import annotations

import pytest

from dagentd.cli.top.screen import names


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
