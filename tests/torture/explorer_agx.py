"""Crashes of what is done to AGX: all documents are whole, nothing is lost, and the next process goes on, whatever
lock and temp file are left."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dagentd.agx.values import changed
from tests.conftest import git
from tests.model.agx.seed import example
from tests.torture.explorer import Case
from tests.torture.explorer_power import How
from tests.torture.explorer_wire import Job, Lane
from tests.torture.reader import temps, whole

HALF = b'{"version": "1.0.0", "sessio'


class AgxCase(Case):
    def __init__(self, op: str, folder: Path, how: How) -> None:
        super().__init__(op, folder, how)
        self.place = AgxPlace(self.root)

    def job(self, crash: int = 0, op: str = "") -> Job:
        job = super().job(crash, op)
        return dataclasses.replace(job, root=str(self.place.repo), home=str(self.place.home), real_time=True)

    def prepare(self, lane: Lane) -> None:
        self.place.make()
        self.before = self.place.held()

    def crashed(self, acked: list[str]) -> None:
        """Each document is there whole, as it was or as it was to be; the index is whole too."""
        place = self.place
        for lock in (place.agx / "sessions" / ".lock", place.index.with_name(".index.lock")):
            if lock.exists() and not lock.read_bytes():
                os.utime(lock, (0, 0))  # the power was off for longer than a moment
        after = place.held()
        assert self.before.keys() <= after.keys()
        for name, held in self.before.items():
            assert all(raw.get("mark") == held[0].get("mark") for raw in after[name])
        for path in place.index.parent.glob("*.json"):
            whole(path)
        assert whole(place.index)["theirs"] == {"kept": True}

    def restarted(self, lane: Lane, acked: list[str]) -> None:
        """The next process does it, or finds it done; then the index is checked as the daemon does."""
        once = self.op in ("agx new", "agx remove") and self._is_done()
        if not once:
            lane.done(self.job())
        if once or self._left():  # any that writes clears up
            lane.done(self.job(op="agx claude" if self.op != "agx remove" else "agx restore"))
            lane.done(self.job(op="agx index"))
        self._check_done()

    def _is_done(self) -> bool:
        return "fresh" in self.place.sessions if self.op == "agx new" else DONE[self.op](self.place)

    def _check_done(self) -> None:
        place = self.place
        assert DONE[self.op](place)
        assert self.before.keys() <= place.held().keys()
        indexed = [each for each in whole(place.index)["sessions"] if each["projectPath"] == str(place.repo)]
        entries = {each["sessionId"] for each in indexed}
        if self.op != "agx configure":
            assert entries == place.sessions.keys() or place.sessions.keys() - entries == {"broken"}
        assert self._left() == []

    def _left(self) -> list[str]:
        folders = (self.place.agx, self.place.index.parent)
        locks = [str(path) for folder in folders for path in folder.rglob("*lock")]
        return [*temps(self.root), *locks]


class AgxPlace:
    """A project and a home, with sessions in every state there is, an older one, a damaged one with a backup, and a
    checkout not yet followed."""

    def __init__(self, folder: Path) -> None:
        self.repo, self.home = folder / "repo", folder / "home"
        self.agx, self.index = self.repo / ".agx", folder / "home" / ".agx" / "index.json"

    def make(self) -> None:
        self.home.mkdir(parents=True)
        git(self.home, "init", "-q", "--template=", str(self.repo))  # fewer files to copy
        git(self.repo, "commit", "-q", "--allow-empty", "-m", "Start")
        archived = changed(example("session"), "lifecycle", state="archived")
        for name, more in (("main", {}), ("side", {}), ("old", {"lifecycle": archived["lifecycle"]})):
            self._write(f"sessions/{name}.json", {**example("session"), "sessionId": name, "mark": name, **more})
        self._write("sessions/older.json", {"sessionId": "older", "mark": "older"})
        self._write("trash/gone.20250101T000000000000Z.json", {**archived, "sessionId": "gone", "mark": "gone"})
        self._write("backups/broken.20250101T000000000000Z.json", {**example("session"), "sessionId": "broken"})
        (self.agx / "sessions" / "broken.json").write_bytes(HALF)
        (self.agx / "sessions" / ".current").write_text("main")
        (self.agx / ".branch").write_text("main")
        git(self.repo, "checkout", "-q", "-b", "feature/x")
        self.index.parent.mkdir()
        self.index.with_name("config.json").write_text(json.dumps(example("global-config")))
        self.index.write_text(json.dumps({**example("index"), "theirs": {"kept": True}}))

    def _write(self, below: str, raw: dict[str, Any]) -> None:
        path = self.agx / below
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(raw))

    def held(self) -> dict[str, list[dict[str, Any]]]:
        """Every whole session document there is, wherever, by its name."""
        found: dict[str, list[dict[str, Any]]] = {}
        for path in self.agx.rglob("*.json"):
            if path.read_bytes() != HALF:
                raw = whole(path)
                found.setdefault(str(raw["sessionId"]), []).append(raw)
        return found

    @property
    def sessions(self) -> dict[str, dict[str, Any]]:
        paths = (self.agx / "sessions").glob("*.json")
        return {path.stem: whole(path) for path in paths if path.read_bytes() != HALF}

    @property
    def current(self) -> str:
        return (self.agx / "sessions" / ".current").read_text()

    def state(self, name: str) -> object:
        return self.sessions[name]["lifecycle"]["state"]


DONE: dict[str, Callable[[AgxPlace], bool]] = {
    "agx new": lambda place: place.state("fresh") == "active",
    "agx switch": lambda place: place.current == "side",
    "agx archive": lambda place: place.state("side") == "archived",
    "agx restore": lambda place: place.state("old") == "paused",
    "agx bring back": lambda place: place.state("gone") == "paused",
    "agx mend": lambda place: place.sessions["broken"]["sessionId"] == "broken",
    "agx claude": lambda place: place.sessions["side"]["claude"]["sessionId"] == "abc",
    "agx remove": lambda place: "side" not in place.sessions,
    "agx follow": lambda place: place.current == "feature-x" and place.state("feature-x") == "active"
    and place.sessions["older"]["version"] == "1.0.0",
    "agx configure": lambda place: whole(place.home / ".agx" / "config.json")["session"]["backupCount"] == 9,
    "agx index": lambda place: "old" in {each["sessionId"] for each in whole(place.index)["sessions"]},
}  # fmt: skip

# Each way of writing once: the others write and sync by the same functions.
_KILL = ("agx new", "agx switch", "agx archive", "agx bring back", "agx mend", "agx remove", "agx follow",
         "agx configure", "agx index")  # fmt: skip
_POWER = ("agx new", "agx archive", "agx remove", "agx follow", "agx index")
CASES: list[tuple[str, How]] = [
    *((op, "kill") for op in _KILL),
    *((op, "power") for op in _POWER),
    *((op, "names") for op in _POWER),
]
