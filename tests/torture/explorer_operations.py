"""What the torture tests have done by a process that they stop: the real operations, on real files."""

from __future__ import annotations

import contextlib
import itertools
import json
import threading
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from dagentd.adapters import clock
from dagentd.adapters.files import disk
from dagentd.agents.resumable import Resumable
from dagentd.agx import config_files
from dagentd.agx.agx import Agx
from dagentd.errors import Conflict, NotFound
from dagentd.jobs import context, migration
from dagentd.jobs.archive import archive_ended
from dagentd.jobs.compaction import Compactor, How
from dagentd.jobs.context.checkouts import Checkouts
from dagentd.settings import Settings
from dagentd.settings.tables import Compaction
from dagentd.store import scrubbing
from dagentd.store.documents import document_writer
from dagentd.store.journal.index import Index
from dagentd.store.ledger import Ledger
from dagentd.store.sessions.session import Session
from dagentd.store.store import Store
from tests.store.place import FEATURE, NESTED, PM, TASK, Place
from tests.torture.explorer_power import Power
from tests.torture.explorer_time import Time
from tests.torture.explorer_wire import Job, say

SEEDED = ("m0", "m1", "m2")
SECRET = b"said in m1"
ALL_LEAVES = Settings(compaction=Compaction(keep_recent_tokens=0))  # short as it is, all of it would stay


class Life:
    """A process of dagentd, from its start to its end."""

    def __init__(self, job: Job, power: Power, time: Time) -> None:
        self.job, self.root, self.power, self.time = job, Path(job.root), power, time
        self._opened = False

    @cached_property
    def store(self) -> Store:
        self._opened = True
        return Store(Place(self.root).project, Index(self.root / "index.sqlite"))

    @property
    def pm(self) -> Session:
        return self.store.session(PM)

    @cached_property
    def compactor(self) -> Compactor:
        return Compactor(Ledger(self.root / "ledger.jsonl"))

    @cached_property
    def agx(self) -> Agx:
        return Agx(lambda: Settings().agx, lambda: [self.root], lambda: Resumable(list))

    def ack(self, *told: str) -> None:
        with self.power.lock:
            for each in told:
                say(f"ack {each}")

    def close(self) -> None:
        if self._opened:
            self.store.close()


# --- a session ----------------------------------------------------------------------------------------------------


def _create_flat(life: Life) -> None:
    life.ack(life.store.maker.get_or_create("feature", "pm", FEATURE).id)


def _create_nested(life: Life) -> None:
    life.ack(life.store.maker.get_or_create("feature", "pm", NESTED).id)


def _create_task(life: Life) -> None:
    life.ack(life.store.maker.get_or_create("task", "dev", FEATURE, TASK, "in_dev").id)


def _seed(life: Life) -> None:
    session = life.store.maker.get_or_create("feature", "pm", FEATURE)
    session.add([{"id": name, "role": "user", "content": f"said in {name}"} for name in SEEDED])


def _adopt(life: Life) -> None:
    life.ack(life.pm.id)


def _open(life: Life) -> None:
    life.store.reconciler.reconcile()


def _add(life: Life) -> None:
    life.pm.add([{"id": "one", "role": "user", "content": "1"}])
    life.ack("one")
    life.pm.add([{"id": name, "role": "user", "content": name} for name in ("two", "three")])
    life.ack("two", "three")


def _add_glued(life: Life) -> None:
    """Before each of our appends another program has appended half a line."""
    for ids in (("one",), ("two", "three")):
        with life.pm.folder.journal.open("ab") as file:
            file.write(b'{"t": "message", "at": "2026')
        life.pm.add([{"id": name, "role": "user", "content": name} for name in ids])
        life.ack(*ids)


def _clear(life: Life) -> None:
    life.pm.clear()
    life.ack("cleared")


def _compact(life: Life) -> None:
    if life.compactor.compact(life.pm, ALL_LEAVES, How(seconds=0))["messagesCompacted"]:
        life.ack("compacted")


def _undo(life: Life) -> None:
    with contextlib.suppress(Conflict):  # it was undone before the crash
        life.compactor.undo(life.pm)
        life.ack("undone")


def _compact_again(life: Life) -> None:
    """As `compact --again` does once a model has answered: two are undone and one is made, in one append."""
    with contextlib.suppress(Conflict):
        start = life.pm.before("local")
        ids = [one.id for one in start.messages]
        life.pm.compact(start, ids, {"summary": {"decisions": ["better"]}, "backend": "anthropic"})
        life.ack("again")


def _compact_late(life: Life) -> None:
    """A model answers after `local` stepped in for it: that is undone and another made, in one append."""
    start = life.pm.snapshot()
    if not start.messages:  # it crashed behind that, and nobody waits for the answer any more
        return
    life.compactor.compact(life.pm, ALL_LEAVES, How(seconds=0))
    life.ack("stood in")
    ids = [one.id for one in start.messages]
    life.pm.compact(start, ids, {"summary": {"decisions": ["better"]}, "backend": "anthropic"}, late=True)
    life.ack("late")


def _archive(life: Life) -> None:
    life.pm.archive()
    life.ack("archived")


def _archive_ended(life: Life) -> None:
    life.store.reconciler.reconcile()
    if archive_ended(life.store, life.store.catalogue.feature(FEATURE), Settings()):
        life.ack("archived")


def _checkpoint(life: Life) -> None:
    life.pm.update_checkpoint({"summary": {"completed": ["done"]}})
    life.ack("updated")


def _pin(life: Life) -> None:
    life.pm.pin(message="m1")
    life.ack("pinned")


def _context(life: Life) -> None:
    rebuilt = context.rebuild(life.store, life.store.catalogue.feature(FEATURE), Settings(), Checkouts())
    assert not rebuilt.errors, rebuilt
    life.ack("context")


def _restore(life: Life) -> None:
    try:
        life.store.maker.restore(PM, NESTED)
        life.ack("restored")
    except NotFound:  # it is back since before the crash
        life.store.reconciler.reconcile()


def _forget(life: Life) -> None:
    with contextlib.suppress(NotFound):
        life.store.forget(PM)
        life.ack("forgotten")


def _scrub(life: Life) -> None:
    scrubbing.scrub(life.store, [SECRET])
    life.ack("scrubbed")


def _remember(life: Life) -> None:
    memory, worktree = life.store.memory, "/worktree"
    note = memory.add("a note", "agent", worktree=worktree)
    life.ack("noted")
    decision = memory.add("a decision", "user")
    life.ack("decided")
    memory.confirm(note.id)
    life.ack("confirmed")
    memory.withdraw(decision.id, "user")
    life.ack("withdrawn")


def _pause(life: Life) -> None:
    pauses = life.store.pauses
    pauses.begin(PM, 3600)
    life.ack("session paused")
    pauses.begin(None, None)
    life.ack("project paused")
    pauses.end(PM)
    life.ack("session resumed")
    pauses.end(None)
    life.ack("project resumed")


def _take_in(life: Life) -> None:
    life.pm.reconcile()
    life.ack("app-1")


def _add_overwritten(life: Life) -> None:
    """A backup is copied over the journal while we have it open; what memory has is there when the next is answered."""
    backup = life.pm.folder.journal.read_bytes()
    life.pm.add([{"id": "one", "role": "user", "content": "1"}])
    life.pm.folder.journal.write_bytes(backup)
    life.pm.add([{"id": name, "role": "user", "content": name} for name in ("two", "three")])
    life.ack("one", "two", "three")


def _glance(life: Life) -> None:
    """What was read at a glance is there, although the app clears its chat in the next moment."""
    chat_file = life.pm.folder.document("chat")
    held = chat_file.read_bytes()
    life.store.glance(life.pm.folder.feature, PM, [held])
    life.ack("app-1")
    chat_file.write_text(json.dumps({"messages": [], "totalMessages": 0}))
    life.pm.reconcile()


def _take_in_late(life: Life) -> None:
    """The app writes at the worst instant: its chat was compared with what we know, and is now replaced."""
    session, chat_file = life.pm, life.pm.folder.document("chat")
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
    life.ack("one")


# --- older files --------------------------------------------------------------------------------------------------


def _migrate(life: Life) -> None:
    for feature in life.store.catalogue.features():
        for file in migration.run(life.store, feature, Settings()):
            assert file.error is None, file
            life.ack(str(file.session_id))


def _roll_back(life: Life) -> None:
    for feature in life.store.catalogue.features():
        for file in migration.rollback(life.store, feature):
            assert file.error is None, file
            life.ack(str(file.session_id))


# --- AGX ----------------------------------------------------------------------------------------------------------


def _agx_follow(life: Life) -> None:
    life.agx.settle(life.root)
    life.agx.updated([life.root])


# --- until it is killed -------------------------------------------------------------------------------------------


def _append(life: Life) -> None:
    """Add for ever from several threads: the test ends it."""
    document_writer._APART = 0.005
    sessions = [
        life.store.maker.get_or_create("feature", "pm", FEATURE),
        life.store.maker.get_or_create("feature", "pm", NESTED),
    ]
    for session in sessions:
        if session.messages(0)[1] > 100:  # keeps the rounds short
            session.clear()
    threads = [
        threading.Thread(target=_loop, args=(life, session, f"{life.job.label}-{number}"), daemon=True)
        for number, session in enumerate([*sessions, *sessions])
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _loop(life: Life, session: Session, name: str) -> None:
    for number in itertools.count():
        ids = [f"{name}-{number}"] if number % 3 else [f"{name}-{number}a", f"{name}-{number}b"]
        session.add([{"id": one, "role": "user", "content": f"{one} é 🙂"} for one in ids])
        life.ack(f"{session.id} {' '.join(ids)}")
        if number % 7 == 6:
            version = session.update_checkpoint({"summary": {"completed": [name, str(number)]}})["version"]
            life.ack(f"{session.id} v{version}")


OPERATIONS: dict[str, Callable[[Life], object]] = {
    "create flat": _create_flat,
    "create nested": _create_nested,
    "create task": _create_task,
    "seed": _seed,
    "adopt": _adopt,
    "open": _open,
    "add": _add,
    "add glued": _add_glued,
    "clear": _clear,
    "compact": _compact,
    "undo": _undo,
    "compact again": _compact_again,
    "compact late": _compact_late,
    "archive": _archive,
    "archive ended": _archive_ended,
    "checkpoint": _checkpoint,
    "pin": _pin,
    "context": _context,
    "restore": _restore,
    "forget": _forget,
    "scrub": _scrub,
    "remember": _remember,
    "pause": _pause,
    "take in": _take_in,
    "take in late": _take_in_late,
    "glance": _glance,
    "add overwritten": _add_overwritten,
    "append": _append,
    "migrate": _migrate,
    "roll back": _roll_back,
    "agx new": lambda life: life.agx.new(life.root, "fresh"),
    "agx switch": lambda life: life.agx.switch(life.root, "side"),
    "agx archive": lambda life: life.agx.archive(life.root, "side"),
    "agx restore": lambda life: life.agx.restore(life.root, "old"),
    "agx bring back": lambda life: life.agx.restore(life.root, "gone"),
    "agx mend": lambda life: life.agx.restore(life.root, "broken"),
    "agx claude": lambda life: life.agx.claude(life.root, "abc", "side"),
    "agx remove": lambda life: life.agx.cleanup(life.root, ["side"]),
    "agx follow": _agx_follow,
    "agx configure": lambda life: config_files.put(config_files.user(), "session.backupCount", 9, 5, clock.now()),
    "agx index": lambda life: life.agx.index(rebuild=True),
}
