"""The thread that hears: whatever goes wrong in it, it goes on hearing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dagentd import watching
from dagentd.adapters.watch.batches import Batch
from dagentd.watching import Watching

REGISTRY = Path("/state/projects.json")


class Ears:
    """Gives what it was told to, or raises it; then nothing more."""

    ceiling = 1.0

    def __init__(self, *heard: Batch | Exception) -> None:
        self._heard: Iterator[Batch | Exception] = iter(heard)
        self._closed = threading.Event()

    def follow(self, folders: list[Path]) -> None:
        """Nothing is to be heard of them."""

    def batch(self, timeout: float | None) -> Batch | None:
        match next(self._heard, None):
            case Batch() as batch:
                return batch
            case Exception() as error:
                raise error
        self._closed.wait()
        return None

    def close(self) -> None:
        self._closed.set()


def test_one_who_fails_to_listen_listens_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Out of descriptors the thread ended without a word, and nothing was heard until the next start."""
    monkeypatch.setattr(watching, "_AFTER_BUG", 0.01)
    told, bugs = threading.Event(), list[BaseException]()
    agx: Any = SimpleNamespace(folders=list, files=set())
    upkeep: Any = None
    listening = Watching(upkeep, agx, lambda *_, **__: None, REGISTRY, told.set, bugs.append)
    ears: Any = Ears(OSError(24, "Too many open files"), Batch(frozenset({REGISTRY}), frozenset(), False))
    listening.start(ears)
    assert told.wait(30), "what came after the failure was not heard"
    listening.close()
    assert [type(bug) for bug in bugs] == [OSError]
