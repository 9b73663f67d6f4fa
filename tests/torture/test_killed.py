"""A process that appends from several threads, killed at random instants while the app writes too."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.store.place import PM, PM_NESTED, Place, said
from tests.torture import reader
from tests.torture.explorer_wire import Job, Lane, lane
from tests.torture.seeds import THOROUGH, drawn

ROUNDS = 200 if THOROUGH else 60


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


@pytest.fixture
def forks() -> Iterator[Lane]:
    with lane() as one:
        yield one


@pytest.mark.more
def test_killed_many_times_nothing_acknowledged_is_lost(tmp_path: Path, forks: Lane) -> None:
    rng = random.Random(drawn())
    place, acknowledged = Place(tmp_path / "p").make(), Acknowledged()
    app_wrote: set[str] = set()
    for number in range(ROUNDS):
        outsider = App(place.pm.chat, str(number)) if number % 4 == 3 else None
        with outsider or _nobody():
            lines = _kill_one(forks, Job("append", str(place.root), label=str(number), real_time=True), rng)
        acknowledged.take(lines)
        app_wrote |= set(outsider.wrote) if outsider else set()
        _check_after_kill(place, acknowledged, thoroughly=number % 10 == 0)
    forks.done(Job("open", str(place.root)))
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


def test_killed_while_a_slow_writer_has_a_file_that_was_set_aside(tmp_path: Path, forks: Lane) -> None:
    """It wrote a part, paused for longer than the settle time, and wrote on when nobody was there to see it."""
    place = Place(tmp_path / "p").make()
    with place.session() as session:
        session.add(said("a"))
    chat = json.loads(place.pm.chat.read_bytes())
    chat["messages"].append({"id": "slow", "role": "user", "content": "slow", "timestamp": "2026-01-01"})
    text = json.dumps(chat)
    with place.pm.chat.open("w") as app:
        app.write(text[:5])
        app.flush()
        pid = forks.start(Job("append", str(place.root), real_time=True))
        forks.line()
        os.kill(pid, signal.SIGKILL)
        forks.finish([])
        assert list(place.pm.folder.glob("*.corrupt.*"))
        app.write(text[5:])
    forks.done(Job("open", str(place.root)))
    reader.once(reader.agree(place.pm), {"a", "slow"})
    assert reader.temps(place.root) == []


def _kill_one(forks: Lane, job: Job, rng: random.Random) -> list[str]:
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
