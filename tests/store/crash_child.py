"""The process that the crash tests kill: it forks one worker a job, which prints what was acknowledged.

Started once and before any thread: a fork costs milliseconds where an interpreter costs half a second."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagentd.adapters import disk
from dagentd.errors import Conflict
from dagentd.jobs import migration
from dagentd.jobs.compaction import Compactor, How
from dagentd.settings import Settings
from dagentd.store import projections
from dagentd.store.index import Index
from dagentd.store.ledger import Ledger
from dagentd.store.session import Session
from dagentd.store.store import Store
from tests.store.place import FEATURE, NESTED, TASK, Place

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer

CRASHED = 77
SETTLE = 0.002  # for the app, which writes at once; not for one that we race with


@dataclass
class Job:
    """`crash`: end at that durable step, 0 for never. `power`: what was not synced by then is lost too."""

    op: str
    root: str
    crash: int = 0
    power: bool = False
    settle: float = SETTLE
    label: str = ""


# --- the test's side --------------------------------------------------------------------------------------


@dataclass
class Outcome:
    status: int
    acked: list[str]
    steps: int

    @property
    def crashed(self) -> bool:
        return self.status == CRASHED


@dataclass
class Children:
    process: subprocess.Popen[str]
    seen: list[str] = field(default_factory=list)

    def start(self, job: Job) -> int:
        """The pid of a worker that does the job."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(dataclasses.asdict(job)) + "\n")
        self.process.stdin.flush()
        word, pid = self.line()
        assert word == "started", (word, pid)
        return int(pid)

    def line(self) -> tuple[str, str]:
        assert self.process.stdout is not None
        text = self.process.stdout.readline()
        assert text, "the crash child ended; its stderr says why"
        word, _, rest = text.rstrip("\n").partition(" ")
        return word, rest

    def finish(self, acked: list[str] | None = None) -> Outcome:
        """Read until the worker has ended."""
        acked, steps = [] if acked is None else acked, 0
        while True:
            word, rest = self.line()
            if word == "ack":
                acked.append(rest)
            elif word == "steps":
                steps = int(rest)
            elif word == "ended":
                return Outcome(int(rest), acked, steps)

    def run(self, job: Job) -> Outcome:
        self.start(job)
        return self.finish()


@contextmanager
def children() -> Iterator[Children]:
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-m", "tests.store.crash_child"]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    with subprocess.Popen(
        command, cwd=root, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield Children(process)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(timeout=30) == 0


# --- the child's side -------------------------------------------------------------------------------------


def say(text: str) -> None:
    os.write(1, text.encode() + b"\n")


def main() -> None:
    for line in sys.stdin:
        job = Job(**json.loads(line))
        pid = os.fork()
        if pid == 0:
            _work(job)
        say(f"started {pid}")
        _, status = os.waitpid(pid, 0)
        say(f"ended {os.waitstatus_to_exitcode(status)}")


def _work(job: Job) -> None:
    status = 1
    signal.alarm(30)  # a worker that hangs is a failure, not a wait
    bugs = Bugs(logging.ERROR)
    logging.getLogger().addHandler(bugs)
    try:
        projections._APART = 0.005
        power = Power(job.crash, job.power)
        store = Store(Place(Path(job.root)).project, Index(Path(job.root, "index.sqlite")), settle=job.settle)
        OPERATIONS[job.op](store, job, lambda what: power.acknowledge(what))
        store.close()
        say(f"steps {power.count}")
        status = 1 if bugs.seen else 0
    except BaseException:
        import traceback

        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)


class Bugs(logging.Handler):
    """What the store logs as an error is a bug of ours."""

    seen = False

    def emit(self, record: logging.LogRecord) -> None:
        self.seen = True
        sys.stderr.write(logging.Formatter().format(record) + "\n")


class Power:
    """Counts durable steps, and ends the process at one of them: at once, as kill -9 does, or so that every
    write that was not synced by then is lost, as when the power fails."""

    def __init__(self, crash: int, lose: bool) -> None:
        self.count = 0
        self._crash, self._lose = crash, lose
        self._lock = threading.RLock()
        self._unsynced: dict[tuple[int, int], tuple[int, int]] = {}  # inode: descriptor, size that is safe
        self._real = (os.write, os.fsync, os.fdatasync)
        disk.step = self.step
        if lose:
            disk.write_some = self.write
            os.fsync = lambda fd: self.sync(fd, self._real[1])
            os.fdatasync = lambda fd: self.sync(fd, self._real[2])

    def step(self, what: str, path: object) -> None:
        with self._lock:
            self.count += 1
            if self.count == self._crash:
                self._end()

    def _end(self) -> None:
        for fd, size in self._unsynced.values():
            os.ftruncate(fd, size)
        os._exit(CRASHED)

    def acknowledge(self, what: str) -> None:
        with self._lock:
            say(f"ack {what}")

    def write(self, fd: int, data: Buffer) -> int:
        with self._lock:
            found = os.fstat(fd)
            self._unsynced.setdefault((found.st_dev, found.st_ino), (os.dup(fd), found.st_size))
            return self._real[0](fd, data)

    def sync(self, fd: Any, real: Callable[[Any], None]) -> None:
        real(fd)
        with self._lock:
            found = os.fstat(fd)
            held = self._unsynced.pop((found.st_dev, found.st_ino), None)
            if held is not None:
                os.close(held[0])


# --- what is done -----------------------------------------------------------------------------------------

Say = Callable[[str], None]
SEEDED = ("m0", "m1", "m2")


def _create_flat(store: Store, job: Job, ack: Say) -> None:
    ack(store.get_or_create("feature", "pm", FEATURE).id)


def _create_nested(store: Store, job: Job, ack: Say) -> None:
    ack(store.get_or_create("feature", "pm", NESTED).id)


def _create_task(store: Store, job: Job, ack: Say) -> None:
    ack(store.get_or_create("task", "dev", FEATURE, TASK, "in_dev").id)


def _pm(store: Store) -> Session:
    return store.session(f"pm-feature-{FEATURE}")


def _seed(store: Store, job: Job, ack: Say) -> None:
    session = store.get_or_create("feature", "pm", FEATURE)
    session.add([{"id": name, "role": "user", "content": f"said in {name}"} for name in SEEDED])


def _adopt(store: Store, job: Job, ack: Say) -> None:
    ack(_pm(store).id)


def _open(store: Store, job: Job, ack: Say) -> None:
    store.reconcile()


def _add(store: Store, job: Job, ack: Say) -> None:
    session = _pm(store)
    session.add([{"id": "one", "role": "user", "content": "1"}])
    ack("one")
    session.add([{"id": name, "role": "user", "content": name} for name in ("two", "three")])
    ack("two")
    ack("three")


def _clear(store: Store, job: Job, ack: Say) -> None:
    _pm(store).clear()
    ack("cleared")


def _compact(store: Store, job: Job, ack: Say) -> None:
    ledger = Ledger(Path(job.root, "ledger.jsonl"))
    if Compactor(ledger).compact(_pm(store), Settings(), How(seconds=0))["messagesCompacted"]:
        ack("compacted")


def _undo(store: Store, job: Job, ack: Say) -> None:
    with contextlib.suppress(Conflict):  # it was undone before the crash
        Compactor(Ledger(Path(job.root, "ledger.jsonl"))).undo(_pm(store))
        ack("undone")


def _compact_again(store: Store, job: Job, ack: Say) -> None:
    """As `compact --again` does once a model has answered: two are undone and one is made, in one append."""
    session = _pm(store)
    with contextlib.suppress(Conflict):
        start = session.before("local")
        ids = [one.id for one in start.messages]
        session.compact(start, ids, {"summary": {"decisions": ["better"]}, "backend": "anthropic"})
        ack("again")


def _archive(store: Store, job: Job, ack: Say) -> None:
    _pm(store).archive()
    ack("archived")


def _checkpoint(store: Store, job: Job, ack: Say) -> None:
    _pm(store).update_checkpoint({"summary": {"completed": ["done"]}})
    ack("updated")


def _take_in(store: Store, job: Job, ack: Say) -> None:
    _pm(store).reconcile()
    ack("app-1")


def _take_in_late(store: Store, job: Job, ack: Say) -> None:
    """The app writes at the worst instant: its chat was compared with what we know, and is now replaced."""
    session, chat_file = _pm(store), _pm(store).folder.document("chat")
    before, done = disk.step, threading.Event()

    def step(what: str, path: str | Path) -> None:
        if what == "rename" and path == chat_file and not done.is_set():
            done.set()
            chat = json.loads(chat_file.read_bytes())
            chat["messages"].append({"id": "app-1", "role": "user", "content": "late", "timestamp": "2026-01-01"})
            chat_file.write_text(json.dumps(chat))
            say("ack app-1")  # whole on disk: it must not be lost
        before(what, path)

    disk.step = step
    session.add([{"id": "one", "role": "user", "content": "1"}])
    ack("one")


def _migrate(store: Store, job: Job, ack: Say) -> None:
    for feature in store.features():
        for file in migration.run(store, feature, Settings()):
            assert file.error is None, file
            ack(str(file.session_id))


def _roll_back(store: Store, job: Job, ack: Say) -> None:
    for feature in store.features():
        for file in migration.rollback(store, feature):
            assert file.error is None, file
            ack(str(file.session_id))


def _append(store: Store, job: Job, ack: Say) -> None:
    """Add for ever from several threads: the test ends it."""
    sessions = [store.get_or_create("feature", "pm", FEATURE), store.get_or_create("feature", "pm", NESTED)]
    for session in sessions:
        if session.messages(0)[1] > 100:  # keeps the rounds short
            session.clear()
    threads = [
        threading.Thread(target=_loop, args=(session, f"{job.label}-{number}", ack), daemon=True)
        for number, session in enumerate([*sessions, *sessions])
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _loop(session: Session, name: str, ack: Say) -> None:
    for number in itertools.count():
        ids = [f"{name}-{number}"] if number % 3 else [f"{name}-{number}a", f"{name}-{number}b"]
        session.add([{"id": one, "role": "user", "content": f"{one} é 🙂"} for one in ids])
        ack(f"{session.id} {' '.join(ids)}")
        if number % 7 == 6:
            version = session.update_checkpoint({"summary": {"completed": [name, str(number)]}})["version"]
            ack(f"{session.id} v{version}")


OPERATIONS: dict[str, Callable[[Store, Job, Say], None]] = {
    "create flat": _create_flat,
    "create nested": _create_nested,
    "create task": _create_task,
    "seed": _seed,
    "adopt": _adopt,
    "open": _open,
    "add": _add,
    "clear": _clear,
    "compact": _compact,
    "undo": _undo,
    "compact again": _compact_again,
    "archive": _archive,
    "checkpoint": _checkpoint,
    "take in": _take_in,
    "take in late": _take_in_late,
    "append": _append,
    "migrate": _migrate,
    "roll back": _roll_back,
}

if __name__ == "__main__":
    main()
