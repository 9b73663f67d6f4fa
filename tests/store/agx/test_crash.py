"""Every operation on AGX, killed at each of its writes: all documents are whole, nothing is lost, and the next process
goes on, whatever lock and temp file are left."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from dagentd.model.agx import changed
from tests.conftest import git
from tests.model.agx.seed import example
from tests.store.agx.agx import read
from tests.store.agx.crash_child import Children, Job, children

HALF = b'{"version": "1.0.0", "sessio'


@pytest.fixture(scope="module")
def lanes() -> Iterator[list[Children]]:
    with children() as one, children() as two:
        yield [one, two]


class Place:
    """A project and a home, copied anew for each point."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.root, self.home = folder, folder / "repo", folder / "home"
        self.agx, self.index = self.root / ".agx", folder / "home" / ".agx" / "index.json"

    def make(self) -> None:
        self.home.mkdir(parents=True)
        git(self.folder, "init", "-q", "--template=", str(self.root))  # fewer files to copy
        (self.root / "a").write_text("a")
        git(self.root, "add", "a")
        git(self.root, "commit", "-q", "-m", "Start")

    def session(self, name: str, **more: Any) -> None:
        self.write(f"sessions/{name}.json", {**example("session"), "sessionId": name, "mark": name, **more})

    def write(self, below: str, raw: dict[str, Any]) -> None:
        path = self.agx / below
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(raw))

    def held(self) -> dict[str, list[dict[str, Any]]]:
        """Every whole session document there is, wherever, by its name."""
        found: dict[str, list[dict[str, Any]]] = {}
        for path in self.agx.rglob("*.json"):
            if path.read_bytes() != HALF:
                raw = read(path)
                found.setdefault(str(raw["sessionId"]), []).append(raw)
        return found

    @property
    def sessions(self) -> dict[str, dict[str, Any]]:
        paths = (self.agx / "sessions").glob("*.json")
        return {path.stem: read(path) for path in paths if path.read_bytes() != HALF}


def prepare(place: Place) -> None:
    """Sessions in every state there is, an older one, a damaged one with a backup, and a checkout not yet followed."""
    place.make()
    archived = changed(example("session"), "lifecycle", state="archived")
    for name, more in (("main", {}), ("side", {}), ("old", {"lifecycle": archived["lifecycle"]})):
        place.session(name, **more)
    older = {"sessionId": "older", "mark": "older"}
    place.write("sessions/older.json", older)
    gone = {**archived, "sessionId": "gone", "mark": "gone"}
    place.write("trash/gone.20250101T000000000000Z.json", gone)
    place.write("backups/broken.20250101T000000000000Z.json", {**example("session"), "sessionId": "broken"})
    (place.agx / "sessions" / "broken.json").write_bytes(HALF)
    (place.agx / "sessions" / ".current").write_text("main")
    (place.agx / ".branch").write_text("main")
    git(place.root, "checkout", "-q", "-b", "feature/x")
    place.index.parent.mkdir()
    place.index.parent.joinpath("config.json").write_text(json.dumps(example("global-config")))
    index = example("index")
    index["theirs"] = {"kept": True}
    place.index.write_text(json.dumps(index))


def _state(place: Place, name: str) -> object:
    return place.sessions[name]["lifecycle"]["state"]


DONE: dict[str, Callable[[Place], bool]] = {
    "new": lambda place: _state(place, "fresh") == "active",
    "switch": lambda place: (place.agx / "sessions" / ".current").read_text() == "side",
    "archive": lambda place: _state(place, "side") == "archived",
    "restore": lambda place: _state(place, "old") == "paused",
    "bring back": lambda place: _state(place, "gone") == "paused",
    "mend": lambda place: place.sessions["broken"]["sessionId"] == "broken",
    "claude": lambda place: place.sessions["side"]["claude"]["sessionId"] == "abc",
    "remove": lambda place: "side" not in place.sessions,
    "follow": lambda place: (place.agx / "sessions" / ".current").read_text() == "feature-x"
    and _state(place, "feature-x") == "active" and place.sessions["older"]["version"] == "1.0.0",
    "configure": lambda place: read(place.home / ".agx" / "config.json")["session"]["backupCount"] == 9,
    "index": lambda place: "old" in {each["sessionId"] for each in read(place.index)["sessions"]},
}  # fmt: skip


# Each way of writing once: the others write and sync by the same functions.
KILL = ("new", "switch", "archive", "bring back", "mend", "remove", "follow", "configure", "index")
POWER = ("new", "archive", "remove", "follow", "index")
CASES = [*((op, False) for op in KILL), *((op, True) for op in POWER)]


@pytest.mark.parametrize(("op", "power"), CASES, ids=[f"{op}-{'power' if power else 'kill'}" for op, power in CASES])
def test_crash_at_every_write(op: str, power: bool, tmp_path: Path, lanes: list[Children]) -> None:
    template = Place(tmp_path / "template")
    prepare(template)
    before = template.held()

    def explore(lane: int) -> int:
        place = Place(tmp_path / f"p{lane}")
        for count, point in enumerate(itertools.count(lane + 1, len(lanes))):
            shutil.rmtree(place.folder, ignore_errors=True)
            subprocess.run(["cp", "-a", str(template.folder), str(place.folder)], check=True)
            job = Job(op, str(place.root), str(place.home), point, power)
            if not lanes[lane].run(job):
                _check_done(place, op, before)
                return count
            _check_crashed(place, before)
            _finish(place, op, lanes[lane], before)
        raise AssertionError("unreachable")

    with ThreadPoolExecutor(len(lanes)) as pool:
        points = sum(pool.map(explore, range(len(lanes))))
    assert points > 3
    sys.stdout.write(f"{op}, {'power failure' if power else 'kill'}: {points} points\n")


def _check_crashed(place: Place, before: dict[str, list[dict[str, Any]]]) -> None:
    """Each document is there whole, as it was or as it was to be; the index is whole too."""
    for lock in (place.agx / "sessions" / ".lock", place.index.with_name(".index.lock")):
        if lock.exists() and not lock.read_bytes():
            os.utime(lock, (0, 0))  # the power was off for longer than a moment
    after = place.held()
    assert before.keys() <= after.keys()
    for name, held in before.items():
        assert all(raw.get("mark") == held[0].get("mark") for raw in after[name])
    for path in place.index.parent.glob("*.json"):
        read(path)
    assert read(place.index)["theirs"] == {"kept": True}


def _finish(place: Place, op: str, lane: Children, before: dict[str, list[dict[str, Any]]]) -> None:
    """The next process does it, or finds it done; then the index is checked as the daemon does."""
    once = op in ("new", "remove") and _is_done(place, op)
    if not once:
        assert not lane.run(Job(op, str(place.root), str(place.home)))
    if once or _left(place):  # any that writes clears up
        assert not lane.run(Job("claude" if op != "remove" else "restore", str(place.root), str(place.home)))
        assert not lane.run(Job("index", str(place.root), str(place.home)))
    _check_done(place, op, before)


def _is_done(place: Place, op: str) -> bool:
    return "fresh" in place.sessions if op == "new" else DONE[op](place)


def _check_done(place: Place, op: str, before: dict[str, list[dict[str, Any]]]) -> None:
    assert DONE[op](place)
    assert before.keys() <= place.held().keys()
    entries = {each["sessionId"] for each in read(place.index)["sessions"] if each["projectPath"] == str(place.root)}
    if op != "configure":
        assert entries == place.sessions.keys() or place.sessions.keys() - entries == {"broken"}
    assert _left(place) == []


def _left(place: Place) -> list[str]:
    names = (path.name for folder in (place.agx, place.index.parent) for path in folder.rglob("*"))
    return [name for name in names if name.endswith((".dagentd-tmp", "lock"))]
