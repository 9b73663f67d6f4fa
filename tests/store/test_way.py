"""Whoever asks over the socket has the way before all work that nobody waits for."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from dagentd.waiting import right_of_way
from tests.store.served import Served


def test_each_piece_of_work_goes_behind_those_who_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    rests = list[float]()

    def rest(seconds: float) -> None:
        rests.append(seconds)
        if len(rests) % 3 == 0:  # two looks later it is done
            right_of_way._asking.clear()

    monkeypatch.setattr("dagentd.waiting.time.sleep", rest)
    monkeypatch.setattr("dagentd.waiting._STREAM", 0.0)
    monkeypatch.setattr("dagentd.waiting._LONGEST", 3600.0)
    with ThreadPoolExecutor(1) as other:
        with right_of_way:
            assert list(right_of_way.behind("ab")) == ["a", "b"] and not rests, "nobody waits for itself"
            assert other.submit(lambda: list(right_of_way.behind("ab"))).result() == ["a", "b"]
            assert len(rests) == 3, "the second piece has nobody before it"
        other.submit(lambda: list(right_of_way.behind("ab"))).result()
    assert len(rests) == 3


def test_a_document_is_written_in_the_end_whoever_adds(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dagentd.waiting._LONGEST", 0.001)
    served.add("a")
    with ThreadPoolExecutor(1) as other, right_of_way:
        other.submit(served.flush).result()
    assert served.shown() == ["a"]


def test_work_rests_while_one_request_follows_another(monkeypatch: pytest.MonkeyPatch) -> None:
    rests = list[float]()
    monkeypatch.setattr("dagentd.waiting.time.sleep", rests.append)
    monkeypatch.setattr("dagentd.waiting._WORK", -1.0)
    monkeypatch.setattr("dagentd.waiting._STREAM", 3600.0)
    with right_of_way:
        pass
    list(right_of_way.behind("ab"))
    assert len(rests) == 2
    monkeypatch.setattr("dagentd.waiting._STREAM", 0.0)
    list(right_of_way.behind("ab"))
    assert len(rests) == 2, "nobody asks"
