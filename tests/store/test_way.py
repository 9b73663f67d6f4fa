"""Whoever asks over the socket has the way before all work that nobody waits for."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from dagentd.waiting import right_of_way
from tests.store.served import Served


def test_each_piece_of_work_goes_behind_those_who_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    waited = list[bool]()

    def wait_for(free: Callable[[], bool], _: float) -> bool:
        waited.append(free())
        return True

    monkeypatch.setattr(right_of_way._changed, "wait_for", wait_for)
    with ThreadPoolExecutor(1) as other:
        with right_of_way:
            assert other.submit(lambda: list(right_of_way.behind("ab"))).result() == ["a", "b"]
            assert waited == [False, False]
            assert list(right_of_way.behind("ab")) == ["a", "b"] and len(waited) == 2, "nobody waits for itself"
        other.submit(lambda: list(right_of_way.behind("ab"))).result()
    assert len(waited) == 2


def test_a_document_is_written_in_the_end_whoever_adds(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dagentd.waiting._LONGEST", 0.001)
    served.add("a")
    with ThreadPoolExecutor(1) as other, right_of_way:
        other.submit(served.flush).result()
    assert served.shown() == ["a"]
