"""Whoever adds a message has the way before whoever writes documents."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dagentd.adapters import disk
from dagentd.store import output
from dagentd.store.way import way
from tests.store.served import Served


def test_a_document_is_written_piece_by_piece_behind_those_who_add(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    adding, waited = list[int](), list[bool]()

    def step(what: str, path: str | Path) -> None:
        if Path(path) == served.journal:
            adding.append(way._adding)

    def wait_for(free: Callable[[], bool], _: float) -> bool:
        waited.append(free())
        return True

    monkeypatch.setattr(disk, "step", step)
    monkeypatch.setattr(way._changed, "wait_for", wait_for)
    served.add("a")
    assert adding and set(adding) == {1}, "who adds says so until it is on disk"
    with way:
        assert list(output._politely(iter([b"a", b"b"]))) == [b"a", b"b"]
    assert waited == [False, False]
    assert list(output._politely(iter([b"a", b"b"]))) == [b"a", b"b"] and len(waited) == 2


def test_a_document_is_written_in_the_end_whoever_adds(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dagentd.store.way._LONGEST", 0.001)
    served.add("a")
    with way:
        served.flush()
    assert served.shown() == ["a"]
