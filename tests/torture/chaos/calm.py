"""When all is over: the daemon comes to rest by itself, and what it says is what is on disk."""

from __future__ import annotations

import time
from typing import Any

from dagentd.rpc.client import RpcError, Unreachable
from tests.patience import patience
from tests.torture import reader
from tests.torture.chaos import verdict
from tests.torture.chaos.keeper import Keeper
from tests.torture.chaos.outcome import Level
from tests.torture.chaos.truth import Truth
from tests.torture.chaos.verdict import Found
from tests.torture.chaos.world import Place, World

_QUIET = 3  # looks in a row that find nothing to do and nothing new
_BETWEEN = 0.5  # seconds


class Calm:
    def __init__(self, world: World, keeper: Keeper, truth: Truth, legacy: dict[str, tuple[Place, int]]) -> None:
        self._world, self._keeper, self._truth, self._legacy = world, keeper, truth, legacy

    def reached(self) -> Level:
        """What the daemon then takes. Nobody helps it: what was wrong is right again by itself."""
        end, quiet, before = time.monotonic() + patience(120), 0, None
        while quiet < _QUIET:
            wrong, after = self._unrest()
            if wrong and time.monotonic() > end:
                self._truth.complain(f"no calm: {'; '.join(wrong[:5])}")
                break
            quiet, before = quiet + 1 if not wrong and after == before else 0, after
            time.sleep(_BETWEEN)
        use = self._keeper.use()
        assert use is not None, "the daemon does not run"
        return Level(use.memory, use.threads, use.descriptors, after[1])

    def found(self) -> Found:
        return verdict.look(self._world, self._truth, self._legacy)

    def unlike_what_is_told(self) -> list[str]:
        """The history that clients are told is that of the journal."""
        wrong = []
        for place, sid in self._sessions():
            told, ids = reader.read_journal(place.files(sid).journal), self._history(sid)
            if sorted(ids) != sorted(told.arrived):
                wrong.append(f"{sid}: {len(ids)} messages are told, {len(told.arrived)} are in the journal")
        return wrong

    def _unrest(self) -> tuple[list[str], tuple[int, int]]:
        """What is not yet as it should be; how many jobs were done, and how many folders are watched."""
        try:
            status = self._keeper.call("daemon.status")
            for _, sid in self._sessions():
                self._keeper.call("session.previewRequest", sessionId=sid)  # each is open, and its tokens are counted
        except (RpcError, Unreachable) as error:
            self._keeper.check()
            return [f"{error}"], (0, 0)
        queues = status["queues"]
        wrong = [f"{name}: {queues[name]}" for name in ("waiting", "running", "failing") if queues[name]]
        if status["health"] != "ok":
            wrong.append(f"{status['health']}: {status['problems']}")
        wrong += verdict.disagreements(self._world) + self.found().complaints()
        return wrong, (int(queues["done"]), int(status["watches"]["count"]))

    def _sessions(self) -> list[tuple[Place, str]]:
        return [(place, sid) for place, sid in self._world.sessions() if place.files(sid).journal.exists()]

    def _history(self, sid: str) -> list[str]:
        ids: list[str] = []
        more: dict[str, Any] = {}
        while True:
            page = self._keeper.call("session.getHistory", sessionId=sid, limit=2000, **more)
            ids[:0] = [message["id"] for message in page["messages"]]
            if not page["more"]:
                return ids
            more = {"before": ids[0]}
