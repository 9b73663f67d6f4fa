"""The progress bar: for somebody who looks, and only where there is much to do."""

from __future__ import annotations

import io
import sys

import pytest

from dagentd.cli import bars


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, total: int) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    with bars.progress_bar("Migrating", lambda: total) as advance:
        for number in range(total):
            advance(number)
    return stream.getvalue()


def test_much_work_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    written = shown(monkeypatch, Terminal(), 12)
    assert "Migrating" in written and "100%" in written


def test_little_work_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, Terminal(), 3) == ""


def test_a_pipe_gets_none_and_nothing_is_counted_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)

    def count() -> int:
        raise AssertionError("nobody looks")

    with bars.progress_bar("Migrating", count) as advance:
        advance(1)
    assert stream.getvalue() == ""
