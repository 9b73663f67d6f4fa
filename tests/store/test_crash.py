"""Crashes: a process that appends is killed at random instants, and at each durable step of each operation."""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.store import reader
from tests.store.crash_child import SEEDED, Children, Job, children
from tests.store.place import DEV, PM, PM_NESTED, TASK, Place

ROUNDS = 200


@pytest.fixture(scope="module")
def lanes() -> Iterator[list[Children]]:
    with children() as one, children() as two, children() as three:
        yield [one, two, three]


@pytest.fixture(scope="module")
def forks(lanes: list[Children]) -> Children:
    return lanes[0]


# --- killed at random instants ----------------------------------------------------------------------------


@dataclass
class Acknowledged:
    ids: dict[str, set[str]] = field(default_factory=lambda: {PM: set(), PM_NESTED: set()})
    versions: dict[str, int] = field(default_factory=lambda: {PM: 0, PM_NESTED: 0})

    def take(self, lines: list[str]) -> None:
        for line in lines:
            sid, *names = line.split()
            if names[0].startswith("v"):
                self.versions[sid] = max(self.versions[sid], int(names[0][1:]))
            else:
                self.ids[sid].update(names)


class App:
    """Another writer of a chat: reads, adds one, truncates and writes, again and again."""

    def __init__(self, path: Path, label: str) -> None:
        self.path, self.label = path, label
        self.wrote: list[str] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                chat = json.loads(self.path.read_bytes())
            except FileNotFoundError:
                continue
            name = f"app-{self.label}-{len(self.wrote)}"
            chat["messages"].append({"id": name, "role": "assistant", "content": name, "timestamp": "2026-01-01"})
            text = json.dumps(chat)
            with self.path.open("w") as file:
                file.write(text)
            self.wrote.append(name)
            self._stop.wait(0.003)

    def __enter__(self) -> App:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


@contextmanager
def _nobody() -> Iterator[None]:
    yield None


def test_killed_200_times_nothing_acknowledged_is_lost(tmp_path: Path, forks: Children) -> None:
    seed = int(os.environ.get("CRASH_SEED", "2026"))
    sys.stdout.write(f"CRASH_SEED={seed}\n")
    rng = random.Random(seed)
    place, acknowledged = Place(tmp_path / "p").make(), Acknowledged()
    app_wrote: set[str] = set()
    for number in range(ROUNDS):
        outsider = App(place.pm.chat, str(number)) if number % 4 == 3 else None
        with outsider or _nobody():
            lines = _kill_one(forks, Job("append", str(place.root), label=str(number), settle=0.1), rng)
        acknowledged.take(lines)
        app_wrote |= set(outsider.wrote) if outsider else set()
        _check_after_kill(place, acknowledged, thoroughly=number % 10 == 0)
    assert forks.run(Job("open", str(place.root))).status == 0
    stored = 0
    for files in (place.pm, place.pm_nested):
        told = reader.agree(files)
        reader.once(told, acknowledged.ids[files.sid])
        assert told.checkpoint is not None and told.checkpoint["version"] >= acknowledged.versions[files.sid]
        stored += len(told.arrived)
    reader.once(reader.read_journal(place.pm.journal), app_wrote)
    assert reader.temps(place.root) == []
    count = sum(len(ids) for ids in acknowledged.ids.values())
    sys.stdout.write(f"{ROUNDS} kills, {count} acknowledged, {len(app_wrote)} of the app, {stored} stored\n")


def _kill_one(forks: Children, job: Job, rng: random.Random) -> list[str]:
    pid = forks.start(job)
    acked: list[str] = []
    for _ in range(rng.choice([0, 1, rng.randrange(2, 50)])):
        word, rest = forks.line()
        assert word == "ack", (word, rest)
        acked.append(rest)
    time.sleep(rng.random() * (0.002 if acked else 0.03))  # only chooses the instant
    os.kill(pid, signal.SIGKILL)
    outcome = forks.finish(acked)
    assert outcome.status == -signal.SIGKILL
    return outcome.acked


def _check_after_kill(place: Place, acknowledged: Acknowledged, thoroughly: bool) -> None:
    for files in (place.pm, place.pm_nested):
        for path in files.projections():
            if path.exists():
                reader.whole(path)
        if not files.journal.exists():
            assert not acknowledged.ids[files.sid]
        elif thoroughly:
            reader.once(reader.read_journal(files.journal), acknowledged.ids[files.sid])


# --- at each durable step ---------------------------------------------------------------------------------


def _fresh(place: Place, forks: Children) -> None:
    place.make()


def _seeded(place: Place, forks: Children) -> None:
    place.make()
    assert forks.run(Job("seed", str(place.root))).status == 0


def _compacted(place: Place, forks: Children) -> None:
    _seeded(place, forks)
    assert forks.run(Job("compact", str(place.root))).status == 0


def _compacted_twice(place: Place, forks: Children) -> None:
    _compacted(place, forks)
    for op in ("add", "compact"):
        assert forks.run(Job(op, str(place.root))).status == 0


def _archived_chat(place: Place, forks: Children) -> None:
    _seeded(place, forks)
    assert forks.run(Job("archive", str(place.root))).status == 0


def _without_journal(place: Place, forks: Children) -> None:
    place.make()
    place.pm.folder.mkdir()
    documents: dict[Path, Any] = {
        place.pm.session: {"id": PM, "type": "feature", "createdAt": "2026-01-01T00:00:00.000Z", "theirs": {"a": 1}},
        place.pm.chat: {"messages": [{"id": name, "role": "user", "content": name} for name in SEEDED], "theirs": 2},
        place.pm.checkpoint: {"version": 3, "summary": {"decisions": ["d"]}, "theirs": 3},
    }
    for path, raw in documents.items():
        path.write_text(json.dumps(raw))


def _changed_by_the_app(place: Place, forks: Children) -> None:
    _seeded(place, forks)
    chat = json.loads(place.pm.chat.read_bytes())
    chat["messages"].append({"id": "app-1", "role": "assistant", "content": "from the app", "timestamp": "2026-01-01"})
    place.pm.chat.write_text(json.dumps(chat))


def _damaged(place: Place, forks: Children) -> None:
    """What a crash and a careless writer leave: a torn journal, a temp file with news, an unreadable checkpoint."""
    _changed_by_the_app(place, forks)
    place.pm.chat.rename(place.pm.folder / f".{place.pm.chat.name}.1-1.dagentd-tmp")
    with place.pm.journal.open("ab") as file:
        file.write(b'{"t": "message", "at": "2026')
    place.pm.checkpoint.write_bytes(b'{"version": ')


Prepare = Callable[[Place, Children], None]
Check = Callable[[Place, list[str], bool], None]  # what was acknowledged; whether it was started again since


def _made(place: Place, acked: list[str], again: bool) -> None:
    for sid, files, linked in (
        (PM, place.pm, place.flat / "feature.json"),
        (PM_NESTED, place.pm_nested, place.nested / "feature.json"),
    ):
        if sid in acked:
            told = reader.read_journal(files.journal)
            assert told.session["status"] == "active" and told.checkpoint and told.checkpoint["version"] == 1
            assert reader.whole(linked)["sessionId"] == sid
            assert reader.whole(files.agent)["agentType"] == "pm"
        assert reader.whole(linked)["theirs"] == [1]
    if DEV in acked:
        task = reader.whole(place.flat / "nodes" / TASK / "task.json")
        assert task["states"]["in_dev"]["sessionIds"] == [DEV] and task["currentState"] == "in_dev"
        assert reader.read_journal(place.dev.journal).session["taskId"] == TASK


def _held(place: Place, acked: list[str], again: bool) -> None:
    """What was there stays, what was acknowledged is there, of a group all or none."""
    told = reader.read_journal(place.pm.journal)
    names = {name for name in acked if name not in (PM, "cleared", "archived", "updated")}
    if not again:  # what the app wrote is on disk somewhere, and is taken in at the next start
        names -= {"app-1"}
    reader.once(told, {*SEEDED, *names})
    assert ("two" in told.arrived) == ("three" in told.arrived)
    assert told.chat == [] if "cleared" in acked else set(SEEDED) <= set(told.chat) or not told.chat
    assert "archived" not in acked or told.session["status"] == "archived"
    assert "updated" not in acked or (told.checkpoint and told.checkpoint["summary"]["completed"] == ["done"])


def _all_or_none(place: Place, acked: list[str], again: bool) -> None:
    """Every message is in history once; all that a compaction took are in chat, or behind its checkpoint."""
    told = reader.read_journal(place.pm.journal)
    every = {*SEEDED, *(("one", "two", "three") if "one" in told.arrived else ())}
    reader.once(told, every)
    backend = (told.checkpoint or {}).get("backend")
    assert set(told.chat) == (set() if backend else every)
    assert "compacted" not in acked or backend == "local"
    assert "undone" not in acked or not backend
    assert "again" not in acked or (backend == "anthropic" and told.checkpoint)
    if again and place.pm.checkpoint.exists():
        assert reader.whole(place.pm.checkpoint).get("backend") == backend


def _adopted(place: Place, acked: list[str], again: bool) -> None:
    if not place.pm.journal.exists():
        assert not acked
    if acked:
        _held(place, acked, again)
        told = reader.read_journal(place.pm.journal)
        assert told.checkpoint == {"version": 3, "summary": {"decisions": ["d"]}, "theirs": 3}
        assert told.session["theirs"] == {"a": 1}
    if again:
        assert reader.whole(place.pm.chat)["theirs"] == 2


def _mended(place: Place, acked: list[str], again: bool) -> None:
    told = reader.read_journal(place.pm.journal)
    reader.once(told, {*SEEDED, *(["app-1"] if again else [])})
    if again:
        assert [path.read_bytes() for path in place.pm.beside(place.pm.checkpoint, "corrupt")] == [b'{"version": ']
        assert [path.read_bytes() for path in place.pm.beside(place.pm.journal, "torn")] == [
            b'{"t": "message", "at": "2026'
        ]


STEPS: list[tuple[str, Prepare, Check]] = [
    ("create flat", _fresh, _made),
    ("create nested", _fresh, _made),
    ("create task", _fresh, _made),
    ("adopt", _without_journal, _adopted),
    ("add", _seeded, _held),
    ("add", _archived_chat, _held),
    ("clear", _seeded, _held),
    ("compact", _seeded, _all_or_none),
    ("undo", _compacted, _all_or_none),
    ("compact again", _compacted_twice, _all_or_none),
    ("archive", _seeded, _held),
    ("checkpoint", _seeded, _held),
    ("take in", _changed_by_the_app, _held),
    ("take in late", _seeded, _held),
    ("open", _damaged, _mended),
]


@pytest.mark.parametrize("power", [False, True], ids=["kill", "power"])
@pytest.mark.parametrize(("op", "prepare", "check"), STEPS, ids=[f"{op}-{p.__name__}" for op, p, _ in STEPS])
def test_crash_at_every_durable_step(
    op: str, prepare: Prepare, check: Check, power: bool, tmp_path: Path, lanes: list[Children]
) -> None:
    def explore(lane: int) -> int:
        """Every third point; how many there were."""
        place, children = Place(tmp_path / f"p{lane}"), lanes[lane]
        template = tmp_path / f"template{lane}"
        prepare(place, children)
        place.root.rename(template)
        for count, point in enumerate(itertools.count(lane + 1, len(lanes))):
            shutil.rmtree(place.root, ignore_errors=True)
            subprocess.run(["cp", "-a", str(template), str(place.root)], check=True)  # keeps hard links
            outcome = children.run(Job(op, str(place.root), crash=point, power=power))
            if not outcome.crashed:
                assert outcome.status == 0
                return count
            _check_crashed(place, outcome.acked, check, power)
            _check_restarted(place, op, outcome.acked, check, children)
        raise AssertionError("unreachable")

    with ThreadPoolExecutor(len(lanes)) as pool:
        points = sum(pool.map(explore, range(len(lanes))))
    assert points > 3
    sys.stdout.write(f"{op}, {'power failure' if power else 'kill'}: {points} points\n")


def _check_crashed(place: Place, acked: list[str], check: Check, power: bool) -> None:
    """What the disk holds when the process is dead, before anybody mends it. Documents that can be made again
    are not synced each time: of those, a power failure may leave nothing."""
    check(place, acked, False)
    mine = {path for files in (place.pm, place.pm_nested, place.dev) for path in files.projections()}
    for path in [*place.flat.rglob("*.json"), *place.nested.rglob("*.json")]:
        if not (path in mine and (power or path.read_bytes() == b'{"version": ')):
            reader.whole(path)


def _check_restarted(place: Place, op: str, before: list[str], check: Check, forks: Children) -> None:
    outcome = forks.run(Job("open" if op == "take in late" else op, str(place.root)))
    assert outcome.status == 0
    check(place, [*dict.fromkeys([*before, *outcome.acked])], True)
    assert reader.temps(place.root) == []
    for files in (place.pm, place.pm_nested, place.dev):
        if files.journal.exists():
            reader.agree(files)
            assert files.journal.stat().st_nlink == 2, "kept once"
