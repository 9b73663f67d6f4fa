"""README.md says what the program does."""

from __future__ import annotations

from typing import get_args

from dagentd.events import EventType
from tests.readme import README, current


def test_what_is_made_from_the_code_is_current() -> None:
    assert README.read_text(encoding="utf-8") == current(), "run `python -m tests.readme`"


def test_each_event_is_named() -> None:
    text = README.read_text(encoding="utf-8")
    assert [name for name in get_args(EventType) if f"`{name}`" not in text] == []
