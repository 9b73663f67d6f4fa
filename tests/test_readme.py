"""README.md says what the program does."""

from __future__ import annotations

from tests.readme import README, current


def test_what_is_made_from_the_code_is_current() -> None:
    assert README.read_text(encoding="utf-8") == current(), "run `python -m tests.readme`"
