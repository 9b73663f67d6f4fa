"""A disk that fails under the real code: nothing is acknowledged that is not safe, and work goes on afterwards."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from dagentd import waiting
from dagentd.adapters import clock
from dagentd.adapters.files import disk, fileio
from dagentd.errors import Conflict, CorruptFile, DagentdError, LimitReached, NotAllowed, NotFound
from dagentd.store.documents import document_writer
from dagentd.store.documents.document_edits import edit_document
from dagentd.store.documents.projection import PAUSED
from dagentd.store.journal.index import Index
from dagentd.store.sessions.reconciler import Sweep
from dagentd.store.sessions.resources import Projector
from dagentd.store.sessions.session import Session
from dagentd.store.store import Store
from tests.store.place import FEATURE, PM, TASK, Place, said
from tests.torture import reader

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

Rule = Callable[[str, Path], bool]
Wait = Callable[[float], None]


class Faults:
    """Raises at durable steps, and gives the disk an end."""

    def __init__(self) -> None:
        self.log: list[tuple[str, str]] = []
        self.room: int | None = None  # bytes until the disk is full
        self.at_most: int | None = None  # bytes that one call writes
        self._rules: list[tuple[int, Rule]] = []

    def fail(self, number: int, what: str, name: str = "", times: int = 1 << 30) -> None:
        """`what` fails on files whose name has `name` in it."""
        left = [times]

        def rule(step: str, path: Path) -> bool:
            if step != what or name not in path.name or not left[0]:
                return False
            left[0] -= 1
            return True

        self._rules.append((number, rule))

    def mend(self) -> None:
        self._rules, self.room, self.at_most = [], None, None

    def step(self, what: str, path: str | Path) -> None:
        self.log.append((what, Path(path).name))
        for number, rule in self._rules:
            if rule(what, Path(path)):
                raise OSError(number, os.strerror(number), str(path))

    def write(self, fd: int, data: ReadableBuffer) -> int:
        view = memoryview(data)[: self.at_most]
        if self.room is None:
            return os.write(fd, view)
        if not self.room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        done = os.write(fd, view[: self.room])
        self.room -= done
        return done


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Faults:
    made = Faults()
    monkeypatch.setattr(disk, "step", made.step)
    monkeypatch.setattr(disk, "write_some", made.write)
    monkeypatch.setattr(document_writer, "_APART", 0.0)
    return made


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "p").make()


@pytest.fixture
def wait(monkeypatch: pytest.MonkeyPatch) -> Wait:
    """Let time pass for dagentd, at once."""
    ahead, real = [0.0], clock.monotonic
    monkeypatch.setattr(clock, "monotonic", lambda: real() + ahead[0])

    def pass_by(seconds: float) -> None:
        ahead[0] += seconds

    return pass_by


def ids(session: Session) -> list[str]:
    return [raw["id"] for raw in session.history(limit=1000)[0]]


def told_of(session: Session, kind: str) -> list[str]:
    return [problem.path for problem in session.problems if problem.id == kind and problem.hint]


JOURNAL = f"history_{PM}"


# --- appending --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("room", [0, 1, 30, 100])
def test_a_disk_that_fills_up_in_the_middle_of_an_append(place: Place, faults: Faults, room: int) -> None:
    with place.session() as session:
        session.add(said("a"))
        session.reconcile()
        faults.room = room
        for name in ("lost", "lost-too"):
            with pytest.raises(LimitReached, match="full") as caught:
                session.add(said(name))
            assert caught.value.path == str(place.pm.journal) and caught.value.hint
        assert ids(session) == ["a"] and told_of(session, "journal") == [str(place.pm.journal)]
        assert reader.read_journal(place.pm.journal).tail == b""
        faults.mend()
        session.add(said("b"))
        assert not told_of(session, "journal")
    told = reader.agree(place.pm)
    assert told.chat == ["a", "b"] and not told.bad_lines
    reader.once(told, {"a", "b"})


def test_a_group_of_which_half_fits_is_not_there(place: Place, faults: Faults) -> None:
    with place.session() as session:
        session.reconcile()
        faults.room = 200
        with pytest.raises(LimitReached):
            session.add(said("a", "b", "c"))
        faults.mend()
        assert ids(session) == []
        session.add(said("a", "b", "c"))
    reader.once(reader.agree(place.pm), {"a", "b", "c"})


def test_torn_bytes_that_cannot_be_cut_off_are_cut_before_the_next_append(place: Place, faults: Faults) -> None:
    """Gluing the next record to half of this one would lose both."""
    with place.session() as session:
        session.add(said("a"))
        session.reconcile()
        faults.room = 30
        faults.fail(errno.EIO, "truncate", JOURNAL)
        with pytest.raises(DagentdError):
            session.add(said("lost"))
        assert reader.read_journal(place.pm.journal).tail != b""
        faults.mend()
        session.add(said("b"))
        assert not told_of(session, "journal-altered"), "the half is ours"
    told = reader.agree(place.pm)
    assert told.chat == ["a", "b"] and not told.bad_lines


def test_refused_lines_that_cannot_be_cut_off_are_cut_before_the_next_append(place: Place, faults: Faults) -> None:
    """They are whole, but ours: taken for another program's, they would be there beside the same said again."""
    with place.session() as session:
        session.add(said("a"))
        session.reconcile()
        faults.fail(errno.EDQUOT, "fdatasync", JOURNAL)
        faults.fail(errno.EDQUOT, "truncate", JOURNAL)
        with pytest.raises(DagentdError):
            session.add(said("b", "c"))
        assert {*reader.read_journal(place.pm.journal).arrived} == {"a", "b", "c"}
        faults.mend()
        session.add(said("c", "b"))
        assert not told_of(session, "journal-altered")
    told = reader.agree(place.pm)
    reader.once(told, {"a", "b", "c"})
    assert told.chat == ["a", "c", "b"]


def test_torn_bytes_are_cut_by_the_next_start(place: Place, faults: Faults) -> None:
    with place.session() as session:
        session.add(said("a"))
        session.reconcile()
        faults.room = 30
        faults.fail(errno.EIO, "truncate", JOURNAL)
        with pytest.raises(DagentdError):
            session.add(said("lost"))
    faults.mend()
    with place.session() as session:
        assert ids(session) == ["a"] and told_of(session, "torn")
        session.add(said("b"))
    assert reader.agree(place.pm).chat == ["a", "b"]


def test_a_sync_that_fails_once_is_made_good_by_writing_again(place: Place, faults: Faults) -> None:
    """The kernel calls the pages clean after a failed sync: syncing again alone would lie."""
    with place.session() as session:
        session.reconcile()
        faults.log.clear()
        faults.fail(errno.EIO, "fdatasync", JOURNAL, times=1)
        session.add(said("a"))
        steps = [what for what, name in faults.log if JOURNAL in name]
        assert steps == ["write", "fdatasync", "truncate", "write", "fdatasync"]
    reader.once(reader.agree(place.pm), {"a"})


def test_whoever_reads_while_the_journal_is_opened_again_meets_no_closed_file(
    place: Place, faults: Faults, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look at the documents met a number that was closed just then: at best an error, at worst another file."""
    with place.session() as session:
        session.add(said("a"))
        session.reconcile()
        journal, real = session._journal.file, os.close

        def closed(fd: int) -> None:
            real(fd)
            assert os.path.samestat(os.fstat(journal.fd), os.stat(journal.path))

        faults.fail(errno.EIO, "fdatasync", JOURNAL, times=1)
        with monkeypatch.context() as patch:
            patch.setattr(os, "close", closed)
            session.add(said("b"))
        assert not os.get_inheritable(journal.fd)
    reader.once(reader.agree(place.pm), {"a", "b"})


@pytest.mark.parametrize("how", ["replaced", "removed", "removed with all"])
def test_a_journal_that_is_lost_while_the_disk_fails(place: Place, faults: Faults, how: str) -> None:
    with place.session() as session:
        session.add(said("a"))
        session.reconcile()
        faults.fail(errno.EIO, "fdatasync", JOURNAL)
        with pytest.raises(DagentdError):
            session.add(said("refused"))
        if how == "replaced":
            copy = place.pm.journal.with_name("copy")
            copy.write_bytes(place.pm.journal.read_bytes())
            copy.replace(place.pm.journal)
        elif how == "removed":
            place.pm.journal.unlink()
        else:
            shutil.rmtree(place.pm.folder)
        faults.mend()
        if how == "removed with all":
            with pytest.raises(NotFound, match="no longer on disk"):
                session.add(said("b"))
            return
        session.add(said("b"))
        assert ids(session) == ["a", "b"] and not told_of(session, "journal")
    reader.once(reader.agree(place.pm), {"a", "b"})
    assert "refused" not in reader.agree(place.pm).arrived


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.EROFS, errno.EDQUOT])
@pytest.mark.parametrize("what", ["write", "fdatasync"])
def test_a_journal_that_cannot_be_written_acknowledges_nothing(
    place: Place, faults: Faults, what: str, number: int
) -> None:
    with place.session() as session:
        session.add(said("a"))
        session.reconcile()
        faults.fail(number, what, JOURNAL)
        changes: list[Callable[[], object]] = [
            lambda: session.add(said("b")),
            session.clear,
            session.archive,
            lambda: session.update_checkpoint({"summary": {"completed": ["x"]}}),
        ]
        for change in changes:
            with pytest.raises(DagentdError) as caught:
                change()
            assert caught.value.path == str(place.pm.journal) and caught.value.hint
        assert ids(session) == ["a"] and session.fields["status"] == "active"
        assert told_of(session, "journal") == [str(place.pm.journal)]
        faults.mend()
        session.add(said("b"))
        assert not told_of(session, "journal") and ids(session) == ["a", "b"]
    told = reader.agree(place.pm)
    reader.once(told, {"a", "b"})
    assert told.session["status"] == "active"


def test_writes_that_are_short(place: Place, faults: Faults) -> None:
    for size in (1, 2, 7):
        faults.at_most = size
        with place.session() as session:
            session.add(said(f"a{size}", f"b{size}"))
    reader.once(reader.agree(place.pm), {f"{name}{size}" for name in "ab" for size in (1, 2, 7)})


def test_what_is_answered_was_synced_before(place: Place, faults: Faults) -> None:
    with place.session() as session:
        session.reconcile()
        faults.log.clear()
        session.add(said("a"))
        steps = [what for what, name in faults.log if JOURNAL in name]
    assert steps == ["write", "fdatasync"]


def test_a_new_journal_is_synced_before_it_is_seen(place: Place, faults: Faults) -> None:
    with place.session():
        steps = list(faults.log)
    temp = next(name for what, name in steps if what == "create" and PM in name and name.startswith("."))
    linked = steps.index(("link", f"{JOURNAL}.jsonl"))
    assert steps.index(("fsync", temp)) < linked
    assert ("fsync", "sessions") in steps[linked:] and ("fsync", "kept") in steps[linked:]


# --- the documents behind it ------------------------------------------------------------------------------


def test_no_document_is_written_while_the_journal_cannot_be_appended(place: Place, faults: Faults, wait: Wait) -> None:
    with place.session() as session:
        session.reconcile()
        faults.fail(errno.EIO, "rename", ".json")
        session.add(said("a"))  # acknowledged; its documents are still to be written
        faults.fail(errno.EIO, "fdatasync", JOURNAL)
        with pytest.raises(DagentdError):
            session.add(said("lost"))
        session.tend(clock.monotonic())  # a write that was under way has ended
        faults.mend()
        faults.fail(errno.EIO, "fdatasync", JOURNAL)
        before = {path: path.read_bytes() for path in place.pm.projections()}
        faults.log.clear()
        wait(100)
        session.tend(clock.monotonic())
        session.reconcile()
        assert {path: path.read_bytes() for path in place.pm.projections()} == before
        assert not [name for what, name in faults.log if what == "rename"]
        faults.mend()
        session.reconcile()  # finds out by itself that the journal works again
        assert not told_of(session, "journal")
        assert [raw["id"] for raw in reader.whole(place.pm.chat)["messages"]] == ["a"]
    assert reader.agree(place.pm).chat == ["a"]


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.EROFS, errno.EACCES])
@pytest.mark.parametrize("what", ["create", "write", "rename"])
def test_documents_that_cannot_be_written_are_a_problem_and_follow_later(
    place: Place, faults: Faults, what: str, number: int
) -> None:
    with place.session() as session:
        session.add(said("a"))
        session.reconcile()
        held = place.pm.chat.read_bytes()
        faults.fail(number, what, "chat_")
        session.add(said("b"))  # the journal works
        session.reconcile()
        assert told_of(session, "documents") and place.pm.chat.read_bytes() == held
        assert ids(session) == ["a", "b"]
        faults.mend()
        session.reconcile()
        assert not told_of(session, "documents")
    assert reader.agree(place.pm).chat == ["a", "b"]
    assert reader.temps(place.root) == []


def test_closing_waits_for_no_better_times(place: Place, faults: Faults) -> None:
    """The journal holds everything; the next start writes the documents."""
    with place.session() as session:
        session.reconcile()
        faults.fail(errno.ENOSPC, "create", "chat_")
        session.add(said("a"))
    faults.mend()
    with place.session():
        pass
    assert reader.agree(place.pm).chat == ["a"]


def test_a_late_write_that_could_not_be_taken_in_is_taken_in_later(place: Place, faults: Faults, wait: Wait) -> None:
    with place.session(settle=0.05) as session:
        session.add(said("a"))
        session.reconcile()
        chat = json.loads(place.pm.chat.read_bytes())
        with place.pm.chat.open("r+") as app:
            session.add(said("b"))
            session.reconcile()  # replaces the file that the app has open
            faults.fail(errno.EIO, "fdatasync", JOURNAL)
            chat["messages"].append({"id": "late", "role": "user", "content": "late", "timestamp": "2026-01-01"})
            app.truncate()
            app.write(json.dumps(chat))
        for _ in range(3):
            wait(100)
            session.tend(clock.monotonic())
        assert ids(session) == ["a", "b"]
        faults.mend()
        wait(100)
        session.tend(clock.monotonic())
        assert sorted(ids(session)) == ["a", "b", "late"]
    reader.once(reader.agree(place.pm), {"a", "b", "late"})


def test_a_replaced_file_that_cannot_be_read_is_left_for_a_while(
    place: Place, faults: Faults, wait: Wait, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was due at once again: a disk that is gone kept a core busy."""
    with place.session(settle=0.05) as session:
        session.add(said("a"))
        session.reconcile()
        session.add(said("b"))
        session.reconcile()

        def gone(fd: int, limit: int) -> bytes:
            raise OSError(errno.ESTALE, "Stale file handle")

        wait(100)
        with monkeypatch.context() as broken:
            broken.setattr(fileio, "read_fd", gone)
            due = session.tend(clock.monotonic())
            assert told_of(session, "documents") and due is not None and due > clock.monotonic()
        wait(100)
        assert session.tend(clock.monotonic()) is None and not told_of(session, "documents")
    assert reader.temps(place.root) == []


def test_a_late_write_that_could_not_be_taken_in_before_the_end_is_found_at_the_next_start(
    place: Place, faults: Faults
) -> None:
    with place.session(settle=0.05) as session:
        session.add(said("a"))
        session.reconcile()
        chat = json.loads(place.pm.chat.read_bytes())
        with place.pm.chat.open("r+") as app:
            session.add(said("b"))
            session.reconcile()
            faults.fail(errno.EIO, "fdatasync", JOURNAL)
            chat["messages"].append({"id": "late", "role": "user", "content": "late", "timestamp": "2026-01-01"})
            app.truncate()
            app.write(json.dumps(chat))
    faults.mend()
    with place.session() as session:
        assert sorted(ids(session)) == ["a", "b", "late"]
    reader.once(reader.agree(place.pm), {"a", "b", "late"})
    assert reader.temps(place.root) == []


def test_a_slow_writer_whose_empty_file_was_set_aside(place: Place, faults: Faults, wait: Wait) -> None:
    """It truncated, paused for longer than the settle time, and wrote: into a file of another name."""
    with place.session(settle=0.02) as session:
        session.add(said("a"))
        session.reconcile()
        chat = json.loads(place.pm.chat.read_bytes())
        with place.pm.chat.open("w") as app:
            session.reconcile()
            assert [raw["id"] for raw in reader.whole(place.pm.chat)["messages"]] == ["a"]
            chat["messages"].append({"id": "slow", "role": "user", "content": "slow", "timestamp": "2026-01-01"})
            app.write(json.dumps(chat))
        wait(1)
        session.tend(clock.monotonic())
        assert ids(session) == ["a", "slow"]
    reader.once(reader.agree(place.pm), {"a", "slow"})


def test_an_empty_file_is_set_aside_only_after_a_longer_pause(place: Place) -> None:
    """A busy machine stops a program between truncating and writing for far longer than between two writes."""
    with place.session(settle=0.001) as session:
        session.add(said("a"))
        session.reconcile()
        place.pm.chat.write_bytes(b"")
        begun = clock.monotonic()
        session.reconcile()
        assert clock.monotonic() - begun >= PAUSED
        assert [raw["id"] for raw in reader.whole(place.pm.chat)["messages"]] == ["a"]


def test_a_leftover_that_is_being_written_at_the_start(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    with place.session() as session:
        session.add(said("a"))
    chat = json.loads(place.pm.chat.read_bytes())
    chat["messages"].append({"id": "slow", "role": "user", "content": "slow", "timestamp": "2026-01-01"})
    left = place.pm.folder / f".{place.pm.chat.name}.1-1.dagentd-tmp"
    left.write_bytes(b"")

    def sleep(_: float) -> None:
        if left.exists():
            left.write_text(json.dumps(chat))

    monkeypatch.setattr(waiting, "time", SimpleNamespace(sleep=sleep, monotonic=time.monotonic))
    with place.session(settle=0.5) as session:
        assert sorted(ids(session)) == ["a", "slow"]
    assert reader.temps(place.root) == []


def test_a_journal_is_made_where_a_file_goes_meanwhile(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a temp file of an app's does; a folder from which they all go is being removed."""
    place.pm.folder.mkdir()
    passing, real = place.pm.folder / "chat.json.tmp", disk.link
    place.pm.chat.write_text(json.dumps({"messages": said("a")}))
    passing.touch()

    def link(source: Path, target: Path) -> None:
        real(source, target)
        if target == place.pm.journal:
            passing.unlink(missing_ok=True)

    monkeypatch.setattr(disk, "link", link)
    with place.session() as session:
        assert ids(session) == ["a"]
    assert not passing.exists()
    reader.once(reader.agree(place.pm), {"a"})


def test_what_is_wrong_with_a_session_goes_with_its_worktree(place: Place, faults: Faults, wait: Wait) -> None:
    """Also where somebody used it to the end: a status said for good that it is no longer on disk."""
    with place.store() as store:
        store.maker.get_or_create("feature", "pm", FEATURE).leave()
        with store.sessions.using(PM) as session:
            session.add(said("a"))
            faults.fail(errno.ENOSPC, "create")
            wait(5)
            session.tend(clock.monotonic())
            assert [problem.id for problem in session.problems] == ["documents"]
            faults.mend()
            shutil.rmtree(place.flat.parent)
            store.reconciler.look_around()
        assert store.all_problems() == []


# --- making ---------------------------------------------------------------------------------------------------


def test_making_a_session_fails_at_any_step_and_can_be_done_again(tmp_path: Path, faults: Faults) -> None:
    """One failure, at each step in turn: an error in words or success, nothing is left of it, and the second attempt
    succeeds."""
    point, finished = 0, False
    while not finished:
        point += 1
        place, seen = Place(tmp_path / str(point)).make(), list[str]()

        def count(what: str, _path: Path, seen: list[str] = seen, point: int = point) -> bool:
            seen.append(what)
            return len(seen) == point

        faults._rules = [(errno.ENOSPC, count)]
        try:
            with place.store() as store:
                store.maker.get_or_create("task", "dev", FEATURE, TASK, "in_dev").add(said("a"))
        except DagentdError as error:
            assert error.hint, point
        finished = len(seen) < point
        faults.mend()
        assert finished or seen[point - 1] == "unlink" or reader.temps(place.root) == [], point
        with place.store() as store:
            store.maker.get_or_create("task", "dev", FEATURE, TASK, "in_dev").add(said("a"))
        reader.once(reader.agree(place.dev), {"a"})
        task = reader.whole(place.flat / "nodes" / TASK / "task.json")
        assert task["states"]["in_dev"]["sessionIds"] == [place.dev.sid]
        assert reader.temps(place.root) == [], point
    assert point > 20


@pytest.mark.parametrize("what", ["write", "truncate"])
def test_a_lock_that_cannot_say_whose_it_is_is_held_all_the_same(place: Place, faults: Faults, what: str) -> None:
    """A full disk must not keep dagentd from starting: sessions can be read, and say what is wrong."""
    faults.fail(errno.ENOSPC, what, "lock")
    for _ in range(2):
        with place.store(), pytest.raises(Conflict), place.store():
            pass


def test_a_start_that_fails_lets_go_of_the_lock(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def bug(_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Sweep, "run", bug)
    with pytest.raises(ZeroDivisionError), place.store():
        pass
    monkeypatch.undo()
    with place.store():
        pass


# --- afterwards -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "step", "name"), [("journal", "fdatasync", JOURNAL), ("documents", "create", "")])
def test_what_is_well_again_is_seen_to_be_so_without_anybody_looking(
    place: Place, faults: Faults, kind: str, step: str, name: str
) -> None:
    with place.store() as store:
        store.maker.get_or_create("feature", "pm", FEATURE).leave()
        with store.sessions.using(PM) as session:
            session.add(said("a"))
            faults.fail(errno.ENOSPC, step, name)
            with contextlib.suppress(LimitReached):
                session.add(said("b"))
        while [problem.id for problem in store.all_problems()] != [kind]:  # the test's time limit ends this
            time.sleep(0.01)
        faults.mend()
        while store.all_problems():
            time.sleep(0.01)
    assert reader.agree(place.pm).chat[0] == "a"


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EIO])
def test_a_document_that_could_not_be_read_is_read_again_without_anybody_looking(
    place: Place, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """What the app had written into it was not taken in, and it was not written again, until the next look."""
    with place.session() as session:
        session.add(said("a"))
        session.reconcile()
        chat = reader.whole(place.pm.chat)
        chat["messages"].append({"id": "theirs", "role": "user", "content": "x", "timestamp": "2026-01-01"})
        place.pm.chat.write_text(json.dumps(chat))
        real, failed = fileio.descriptor, threading.Event()

        def refused(path: Path, root: Path | None = None) -> int:
            if path == place.pm.chat and not failed.is_set():
                failed.set()
                raise OSError(number, os.strerror(number), str(path))
            return real(path)

        monkeypatch.setattr(fileio, "descriptor", refused)
        session.look()
        assert failed.is_set()
        while ids(session) != ["a", "theirs"]:  # the test's time limit ends this
            time.sleep(0.01)
    reader.once(reader.agree(place.pm), {"a", "theirs"})


def test_a_document_that_failed_is_written_at_the_end_if_it_can_be(place: Place, faults: Faults, wait: Wait) -> None:
    with place.session() as session:
        session.add(said("a"))
        faults.fail(errno.ENOSPC, "create")
        for _ in range(12):
            wait(100)
            session.tend(clock.monotonic())
        assert told_of(session, "documents")  # and the next try is a minute away
        session.add(said("b"))
        faults.mend()
    assert reader.agree(place.pm).chat == ["a", "b"]


class Failing:
    """Has something to do that cannot be done, for an hour."""

    def __init__(self) -> None:
        self.tried, self.failing, self.idle = threading.Event(), True, False

    def tend(self, now: float) -> float | None:
        self.tried.set()
        return now + 3600


def test_nobody_who_stops_waits_for_what_cannot_be_done() -> None:
    bugs: list[BaseException] = []
    projector, failing = Projector(bugs.append), Failing()
    projector.soon(failing)
    failing.tried.wait()
    projector.stop()  # the test's time limit ends this
    assert not bugs


# --- the index ------------------------------------------------------------------------------------------------


def test_an_index_that_cannot_be_written_is_done_without(place: Place, tmp_path: Path) -> None:
    """It is a cache: a full disk where it lies must not stop anybody."""
    index = Index(tmp_path / "index.sqlite")
    index._db.execute("pragma query_only = on")
    store = Store(place.project, index, settle=0.002)
    session = store.maker.get_or_create("feature", "pm", FEATURE)
    session.add(said("a", "b"))
    session.clear()
    session.add(said("c"))
    assert ids(session) == ["a", "b", "c"]
    store.close()
    index.close()
    assert reader.agree(place.pm).chat == ["c"]


def test_an_index_that_is_damaged_while_it_is_open(place: Place, tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    with place.session() as session:
        session.add(said(*(f"m{number}" for number in range(300))))
    index = Index(path)
    store = Store(place.project, index, settle=0.002)
    with store.sessions.using(PM) as session:
        assert len(ids(session)) == 300
        index._db.execute("pragma wal_checkpoint(truncate)")
        path.write_bytes(b"\xff" * path.stat().st_size)
        index._db.execute("pragma cache_size = 0")
        with pytest.raises(CorruptFile, match="index is damaged") as caught:
            session.add(said("after"))
        assert caught.value.path == str(path) and "Try again" in caught.value.hint
        with store.sessions.using(PM) as again:
            again.add(said("meanwhile", "m0"))  # the second one is known: the journal was read again
            assert len(ids(again)) == 301
        with pytest.raises(NotFound, match="read again"):
            session.add(said("x"))
    store.close()
    index.close()
    index = Index(path)
    store = Store(place.project, index, settle=0.002)
    with store.sessions.using(PM) as session:
        session.add(said("after"))
        assert len(ids(session)) == 302
    store.close()
    index.close()
    reader.once(reader.agree(place.pm), {"after", "meanwhile"})
    held = [os.readlink(entry) for entry in Path("/proc/self/fd").iterdir() if os.path.lexists(entry)]
    assert not [name for name in held if name.startswith(str(place.root))]


def test_history_is_whole_when_the_index_is_behind(place: Place, tmp_path: Path) -> None:
    """The disk of the index fills up: what it lacks is in memory."""
    index = Index(tmp_path / "index.sqlite")
    store = Store(place.project, index, settle=0.002)
    session = store.maker.get_or_create("feature", "pm", FEATURE)
    session.add(said("a", "b"))
    assert ids(session) == ["a", "b"]
    index._db.execute("pragma query_only = on")
    session.add(said("c"))
    session.clear()
    session.add(said("d"))
    assert ids(session) == ["a", "b", "c", "d"]
    assert [raw["id"] for raw in session.history(before="d", limit=2)[0]] == ["b", "c"]
    assert session.history(before="d", limit=2)[1] and not session.history(before="c", limit=2)[1]
    store.close()
    index.close()


def test_a_session_that_is_gone_leaves_the_index_to_the_one_in_its_place(place: Place, tmp_path: Path) -> None:
    """Its worktree was removed and made again while it was in use. Saved when it closed, its messages were taken for
    those of the new journal, and the index of all sessions was thrown away for the contradiction."""
    index = Index(tmp_path / "index.sqlite")
    store = Store(place.project, index, settle=0.002)
    store.maker.get_or_create("feature", "pm", FEATURE).leave()
    with store.sessions.using(PM) as old:
        old.add(said("a", "b"))
        shutil.rmtree(place.flat)
        (place.flat / "sessions").mkdir(parents=True)
        with pytest.raises(NotFound, match="no longer on disk"):
            old.add(said("lost"))
        place.pm.session.write_text(json.dumps({"id": PM, "type": "feature", "agentType": "pm"}))
        with store.sessions.using(PM) as new:
            new.add(said("x", "y"))
            new.clear()
            with pytest.raises(NotFound, match="another session is in its place"):
                ids(old)
        old.close()  # nobody uses it any more
    with store.sessions.using(PM) as new:
        new.add(said("z"))
        assert ids(new) == ["x", "y", "z"]
    store.close()
    assert index.beginnings == 0
    index.close()


def test_an_index_of_another_process_is_not_thrown_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, connect = tmp_path / "index.sqlite", sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda name, **given: connect(name, **{**given, "timeout": 0.05}))
    Index(path).close()
    inode = path.stat().st_ino
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("pragma locking_mode = exclusive")
    other.execute("begin exclusive")
    mine = Index(path)
    mine.journal(tmp_path)
    mine.close()
    other.close()
    assert path.stat().st_ino == inode


# --- links ----------------------------------------------------------------------------------------------------


def test_a_link_that_cannot_be_written_is_an_error_and_loses_nothing(place: Place, faults: Faults) -> None:
    feature = place.flat / "feature.json"
    before = feature.read_bytes()
    faults.fail(errno.EROFS, "rename", "feature.json")
    with place.store() as store:
        with pytest.raises(NotAllowed, match="read-only") as caught:
            store.maker.get_or_create("feature", "pm", FEATURE)
        assert caught.value.path == str(feature) and feature.read_bytes() == before
        faults.mend()
        store.maker.get_or_create("feature", "pm", FEATURE)
    assert reader.whole(feature)["sessionId"] == PM


def test_what_the_app_wrote_into_a_replaced_feature_is_not_lost_to_a_full_disk(
    place: Place, faults: Faults, caplog: pytest.LogCaptureFixture
) -> None:
    feature, now = place.flat / "feature.json", clock.monotonic() + 1
    with feature.open("r+") as app:
        late = edit_document(feature, lambda raw: {**raw, "sessionId": PM}, settle=0)
        assert late is not None
        app.truncate()
        app.write(json.dumps({"id": FEATURE, "name": "renamed by the app"}))
    faults.fail(errno.ENOSPC, "create", "feature.json", times=2)
    assert (late.tend(now) or 0.0) > now and late.failing
    assert (late.tend(now + 60) or 0.0) > now + 60
    assert len(caplog.messages) == 1 and f"not taken in yet: {feature}: the disk is full" in caplog.text, caplog.text
    assert late.tend(now + 120) is None
    assert reader.whole(feature) == {"id": FEATURE, "name": "renamed by the app", "sessionId": PM}
    assert reader.temps(place.flat) == []
