"""The journal under other programs' hands: replaced, cut, emptied, deleted, appended to, of a newer version."""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from dagentd.adapters.files import disk
from dagentd.errors import Conflict, DagentdError, NotFound
from dagentd.model import jsontext, records
from dagentd.model.project import DOCUMENTS
from dagentd.model.records import Record
from dagentd.store.documents.projections import Projections
from dagentd.store.journal.index import Index
from dagentd.store.journal.journal import Altered, Journal
from dagentd.store.store import Store
from tests.store.app import App, said
from tests.store.served import Served
from tests.torture import reader

Harm = Callable[[Served], None]
Wait = Callable[[float], None]


def _sed(served: Served) -> None:
    """A new inode with the same length of other bytes, and one line less."""
    subprocess.run(["sed", "-i", '/"id": "b"/d', str(served.journal)], check=True)


def _same_bytes(served: Served) -> None:
    copy = served.journal.with_suffix(".copy")
    shutil.copy(served.journal, copy)
    copy.replace(served.journal)


def _cut_in_a_line(served: Served) -> None:
    os.truncate(served.journal, served.journal.stat().st_size - 30)


def _cut_between_lines(served: Served) -> None:
    lines = served.journal.read_bytes().splitlines(keepends=True)
    os.truncate(served.journal, len(b"".join(lines[:-1])))


def _emptied(served: Served) -> None:
    os.truncate(served.journal, 0)


def _nulled(served: Served) -> None:
    size = served.journal.stat().st_size
    with served.journal.open("r+b") as file:
        file.write(b"\0" * size)


def _deleted(served: Served) -> None:
    served.journal.unlink()


def _deleted_with_what_is_kept(served: Served) -> None:
    served.journal.unlink()
    for kept in served.kept:
        kept.unlink()


def _other_content(served: Served) -> None:
    """Another session's journal under this name."""
    raw = {"t": "message", "at": "2026-01-01T00:00:00.000Z", "message": said("stranger")}
    spare = served.journal.with_suffix(".spare")
    spare.write_text(json.dumps(raw) + "\n")
    spare.replace(served.journal)


HARMS = (
    _sed, _same_bytes, _cut_in_a_line, _cut_between_lines, _emptied, _nulled, _deleted, _deleted_with_what_is_kept,
    _other_content,
)  # fmt: skip
harms = pytest.mark.parametrize("harm", HARMS, ids=lambda harm: harm.__name__)


def _sound(served: Served, expected: list[str]) -> None:
    """Every message once, in chat, and the same again after a restart without an index."""
    identity = {key: served.session.fields[key] for key in ("id", "type", "agentType", "featureId", "createdAt")}
    for _ in range(2):
        written = served.written()
        assert sorted(written) == sorted(set(written)) and set(expected) <= set(written)
        assert [one for one in served.shown() if one != "stranger"] == expected
        assert served.app.read("checkpoint")["summary"]["decisions"] == ["kept"]
        session = served.app.read("session")
        assert session["status"] == "active" and {key: session[key] for key in identity} == identity
        assert identity["id"] == served.session.id and identity["createdAt"].startswith("20")
        served.close()
        assert served.index_file is not None
        served.index_file.unlink()
        served.open()
        served.flush()


def _prepared(served: Served) -> None:
    lists: dict[str, list[str]] = {"completed": [], "inProgress": [], "pending": [], "blockers": []}
    served.session.update_checkpoint({"summary": {**lists, "decisions": ["kept"]}})
    served.add("a", "b", "c")


@harms
def test_while_the_store_is_open(served: Served, harm: Harm) -> None:
    _prepared(served)
    harm(served)
    served.add("d")
    _sound(served, ["a", "b", "c", "d"])


@harms
def test_while_the_store_is_open_and_nothing_is_appended(served: Served, harm: Harm) -> None:
    _prepared(served)
    harm(served)
    served.flush()
    _sound(served, ["a", "b", "c"])


@harms
def test_while_the_store_is_closed(served: Served, harm: Harm) -> None:
    _prepared(served)
    served.close()
    harm(served)
    served.open()
    served.add("d")
    _sound(served, ["a", "b", "c", "d"])


@pytest.mark.parametrize("harm", [_sed, _cut_in_a_line, _cut_between_lines, _deleted, _same_bytes])
@pytest.mark.parametrize("moment", ["write", "fdatasync"])
def test_in_the_middle_of_an_append(served: Served, harm: Harm, moment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between our look at the file and our write, and between our write and its sync."""
    _prepared(served)
    once = [True]

    def step(what: str, path: Path | str) -> None:
        if what == moment and Path(path) == served.journal and once:
            once.clear()
            harm(served)

    monkeypatch.setattr(disk, "step", step)
    served.add("d")
    assert not once
    _sound(served, ["a", "b", "c", "d"])


def test_the_last_message_is_damaged_while_more_is_appended(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stands before what was appended then, which somebody's half a line follows."""
    served.add("a", "b")
    once = [True]

    def step(what: str, path: Path | str) -> None:
        if what == "fdatasync" and Path(path) == served.journal and once:
            once.clear()
            data = served.journal.read_bytes()
            start = data.index(b'"text of b"')
            served.journal.write_bytes(data[:start] + b"\n" * 11 + data[start + 11 :] + b'{"t": "message", ')

    monkeypatch.setattr(disk, "step", step)
    served.add("c")
    for _ in range(2):
        assert not once and served.all() == served.known() == ["a", "b", "c"]
        served.again()


def test_a_copy_under_the_journals_name_is_another_file(served: Served) -> None:
    served.add("a")
    journal = Journal.open(served.journal)
    journal.verify()
    _same_bytes(served)
    with pytest.raises(Altered):
        journal.verify()
    journal.close()


@harms
def test_nothing_leaves_chat_because_the_journal_lacks_it(served: Served, harm: Harm, wait: Wait) -> None:
    _prepared(served)
    wait(5)
    harm(served)
    served.app.push(said("theirs"))
    served.flush()
    assert {"a", "b", "c", "theirs"} <= set(served.shown())
    assert not [record for record in served.records("left") if record["ids"]]


def test_an_altered_journal_is_reported(served: Served) -> None:
    _prepared(served)
    _sed(served)
    served.add("d")
    (problem,) = [each for each in served.session.problems if each.id == "journal-altered"]
    assert problem.path == str(served.journal) and problem.hint


def test_what_had_left_stays_away_when_the_journal_forgot_it(served: Served) -> None:
    """A backup of the journal from before a clear: the messages are in it, and that they left is not."""
    served.add("a", "b")
    backup = served.journal.read_bytes()
    served.session.clear()
    served.add("c")
    spare = served.journal.with_suffix(".spare")
    spare.write_bytes(backup)
    spare.replace(served.journal)
    served.add("d")
    assert served.shown() == ["c", "d"]
    served.again()
    assert served.shown() == ["c", "d"] and served.all() == ["a", "b", "c", "d"]


def test_a_backup_of_the_journal_restored_while_closed(served: Served) -> None:
    served.add("a", "b")
    backup = served.journal.read_bytes()
    served.session.clear()
    served.session.archive()
    served.add("c")
    served.session.archive()
    served.close()
    spare = served.journal.with_suffix(".spare")
    spare.write_bytes(backup)
    spare.replace(served.journal)
    store = Store(served.project, Index(served.index_file), settle=0.02)
    session = store.session(served.session.id)
    session.reconcile()
    assert session.fields["status"] == "archived"
    assert served.shown() == ["c"] and [one["id"] for one in session.history()[0]] == ["a", "b", "c"]
    store.close()


@pytest.mark.parametrize("opened", [True, False])
def test_a_backup_of_the_whole_folder(served: Served, tmp_path: Path, opened: bool) -> None:
    """Everything in it agrees, but is older than what we know."""
    served.add("a")
    shutil.copytree(served.folder.path, tmp_path / "backup")
    served.add("b")
    if not opened:
        served.close()
    served.folder.path.rename(tmp_path / "away")
    (tmp_path / "backup").rename(served.folder.path)
    if not opened:
        served.open()
    served.flush()
    served.add("c")
    assert served.shown() == ["a", "b", "c"]  # memory knew it, or the index
    assert served.store.catalogue.gone() == []
    served.again()
    assert len(served.written()) == len(set(served.written()))


# --- others append ------------------------------------------------------------------------------------------------


def _line(message_id: str) -> bytes:
    raw = {"t": "message", "at": "2026-01-01T00:00:00.000Z", "message": said(message_id)}
    return json.dumps(raw).encode() + b"\n"


def _append(served: Served, data: bytes) -> None:
    with served.journal.open("ab") as file:
        file.write(data)


def test_a_record_that_another_process_appended_counts(served: Served) -> None:
    served.add("a")
    _append(served, _line("stranger"))
    served.add("b")
    assert served.shown() == ["a", "stranger", "b"]
    served.again()
    assert served.shown() == ["a", "stranger", "b"] and served.written() == ["a", "stranger", "b"]


def test_half_a_line_that_another_process_appended_swallows_nothing(served: Served) -> None:
    served.add("a")
    _append(served, b'{"t": "message", "at": "2026')
    served.add("b")
    served.add("c")
    served.again()
    assert served.shown() == ["a", "b", "c"] and served.written() == ["a", "b", "c"]


def _pair() -> list[dict[str, str]]:
    return [{"id": one, "role": "user", "content": one} for one in ("call", "result")]


def _crash(served: Served) -> None:
    """The next start finds the disk as it is now: nothing more is written, no index saved."""
    held = {path: path.read_bytes() for path in served.folder.path.iterdir() if path.is_file()}
    served.close()
    for path in served.folder.path.iterdir():
        with path.open("r+b") as file:
            file.truncate(file.write(held.get(path, b"")))
    assert served.index_file is not None
    served.index_file.unlink(missing_ok=True)
    served.open()
    served.flush()


@pytest.mark.parametrize("behind", [b"", b'{"t": "mess', b"no record\n"], ids=["", "half behind", "line behind"])
def test_a_group_glued_to_half_a_line_is_whole_and_in_order_after_a_crash(
    served: Served, monkeypatch: pytest.MonkeyPatch, behind: bytes
) -> None:
    """Once answered, both are there: the one that was glued must not become the end of a group that has no end."""
    served.add("a")
    once = [True]

    def step(what: str, path: Path | str) -> None:
        if what == "fdatasync" and Path(path) == served.journal and once:
            once.clear()
            _append(served, behind)

    monkeypatch.setattr(disk, "step", step)
    _append(served, b'{"t": "message", "at": "2026')
    served.session.add(_pair())
    assert served.known() == ["a", "call", "result"]
    _crash(served)
    assert served.all() == served.shown() == ["a", "call", "result"]
    assert not list(served.journal.parent.glob("*.torn.*")) and "torn" not in served.problems()


def test_what_leaves_in_a_glued_group_has_left(served: Served) -> None:
    """The rest of a group means something only behind its beginning."""
    served.add("a")
    _append(served, b'{"half":')
    made = [records.message(raw, jsontext.encode(raw), "2026-01-01T00:00:00.000Z") for raw in _pair()]
    served.session.plan(lambda _: ([*made, records.left(["call"], "external", made[0].at)], None))
    assert served.known() == ["a", "result"]
    _crash(served)
    assert served.known() == ["a", "result"] and served.all() == ["a", "call", "result"]


def test_a_compaction_in_a_glued_group_counts_once(served: Served) -> None:
    served.add("a")
    _append(served, b'{"half":')
    made = [records.message(raw, jsontext.encode(raw), "2026-01-01T00:00:00.000Z") for raw in _pair()]
    checkpoint = {**(served.session.checkpoint() or {}), "version": 2}
    served.session.plan(lambda _: ([*made, records.left(["a"], "compacted", made[0].at, checkpoint)], None))
    for _ in range(2):
        assert served.known() == ["call", "result"] and served.session.undoable == 1
        _crash(served)


def test_half_a_line_behind_ours_swallows_nothing(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes between our write and our look at the size: ours is whole, and the next one must not be glued."""
    served.add("a")
    once = [True]

    def step(what: str, path: Path | str) -> None:
        if what == "fdatasync" and Path(path) == served.journal and once:
            once.clear()
            _append(served, b'{"t": "mess')

    monkeypatch.setattr(disk, "step", step)
    served.add("b")
    served.add("c")
    served.again()
    assert served.shown() == ["a", "b", "c"] and served.written() == ["a", "b", "c"]


@pytest.mark.parametrize("behind", [b"", b'{"t": "mess'], ids=["a line", "a line and a half"])
@pytest.mark.parametrize("moment", ["before", "amid"])
def test_a_disk_that_fails_while_the_lines_of_another_process_are_read(
    served: Served, monkeypatch: pytest.MonkeyPatch, moment: str, behind: bytes
) -> None:
    """From any step on: what it said counts, and what was refused is there once when it is said again."""
    served.add("a")
    for at in range(1, 9):
        theirs, ours = f"theirs{at}", [{"id": f"ours{at}{one}", "role": "user", "content": one} for one in "xy"]
        steps = itertools.count(1)

        def step(what: str, path: Path | str, at: int = at, theirs: str = theirs, steps: Any = steps) -> None:
            number = next(steps) if Path(path) == served.journal else 0
            if number == 2 and moment == "amid":
                _append(served, _line(theirs) + behind)
            if number >= at:
                raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))

        if moment == "before":
            _append(served, _line(theirs) + behind)
        with monkeypatch.context() as patch, contextlib.suppress(DagentdError):
            patch.setattr(disk, "step", step)
            served.session.add(ours)
        served.session.add(ours)
        expected = [one for one in (theirs, f"ours{at}x", f"ours{at}y") if one != theirs or moment == "before"]
        assert {*expected} <= {*served.known()}, at
    known = served.known()
    _crash(served)
    assert served.known() == served.all() == known
    reader.once(reader.read_journal(served.journal), {*known})


def test_a_process_that_keeps_appending(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """One record of a stranger before each of our syncs, also while we mend."""
    strangers: list[str] = []

    def step(what: str, path: Path | str) -> None:
        if what == "fdatasync" and Path(path) == served.journal and len(strangers) < 40:
            strangers.append(f"stranger-{len(strangers)}")
            _append(served, _line(strangers[-1]) if len(strangers) % 2 else b'{"half":')

    monkeypatch.setattr(disk, "step", step)
    ours = [f"ours-{number}" for number in range(60)]
    for one in ours:
        served.session.add([{"id": one, "role": "user", "content": "x"}])
    served.flush()
    served.again()
    written = served.written()
    assert [one for one in written if one.startswith("ours")] == ours
    assert len(written) == len(set(written)) and set(served.shown()) == set(written)


def test_an_unparsable_line_is_skipped_kept_and_reported(served: Served) -> None:
    served.add("a")
    served.close()
    _append(served, b"this is no record\n" + _line("stranger") + b"\xff\xfe\n{}\n[1]\n")
    served.open()
    served.add("b")
    assert served.shown() == ["a", "stranger", "b"]
    assert b"this is no record\n" in served.journal.read_bytes() and not list(served.journal.parent.glob("*.torn.*"))
    assert len([one for one in served.problems() if one.startswith("unreadable-")]) == 4
    served.again()
    assert served.written() == ["a", "stranger", "b"]


# --- newer versions -----------------------------------------------------------------------------------------------


def test_a_record_of_unknown_type_makes_the_session_read_only_and_is_reported(served: Served) -> None:
    served.add("a")
    served.close()
    _append(served, b'{"t": "folded", "at": "2026-01-01T00:00:00.000Z", "into": "a"}\n')
    store = Store(served.project, Index(served.index_file), settle=0.02)
    session = store.session(served.session.id)
    session.reconcile()
    assert [one["id"] for one in session.chat()] == ["a"]  # it can be read
    before = {path: path.read_bytes() for path in served.folder.path.iterdir()}
    for change in (
        lambda: session.add([{"role": "user", "content": "x"}]),
        session.clear,
        session.archive,
        lambda: session.update_checkpoint({}),
        lambda: session.replace("context", {}),
    ):
        with pytest.raises(Conflict, match="'folded'") as told:
            change()
        assert "Update dagentd" in told.value.hint
    served.app.push(said("theirs"))
    before[served.app.paths["chat"]] = served.app.paths["chat"].read_bytes()
    session.reconcile()
    assert any("folded" in problem.message and problem.hint for problem in session.problems)
    store.close()
    assert {path: path.read_bytes() for path in served.folder.path.iterdir()} == before


def test_a_record_of_unknown_type_that_is_optional_is_ignored_and_kept(served: Served) -> None:
    served.add("a")
    served.close()
    line = b'{"t": "seen", "at": "2026-01-01T00:00:00.000Z", "optional": true, "by": "a newer one"}\n'
    _append(served, line)
    served.open()
    served.add("b")
    served.again()
    assert served.shown() == ["a", "b"] and line in served.journal.read_bytes() and not served.problems()


# --- deleted ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["chat", "checkpoint", "session"])
def test_a_deleted_document_is_made_again_at_reconcile_and_not_before(served: Served, wait: Wait, name: str) -> None:
    served.add("a")
    before = served.app.read(name)
    before.pop("dagentd")
    served.app.paths[name].unlink()
    for _ in range(3):
        served.session.tend(0.0)
        assert not served.app.paths[name].exists()
    served.flush()
    assert {key: value for key, value in served.app.read(name).items() if key != "dagentd"} == before


def test_a_write_soon_after_a_deletion_does_not_bring_the_document_back(served: Served, wait: Wait) -> None:
    """Git may be removing the folder just now: a file that comes back makes it fail."""
    served.add("a")
    for name in ("chat", "checkpoint", "session"):
        served.app.paths[name].unlink()
    served.session.add([{"role": "user", "content": "x"}])
    for _ in range(5):
        served.session.tend(1e12)
        wait(0.3)
    assert not any(path.exists() for path in served.app.paths.values())
    wait(5)
    served.session.tend(1e12)
    assert len(served.shown()) == 2


def test_documents_deleted_one_by_one_come_back(served: Served) -> None:
    served.add("a")
    for name in DOCUMENTS[:3]:
        served.app.paths[name].unlink()
        served.flush()
        served.add(f"after-{name}")
    assert served.shown() == ["a", "after-session", "after-chat", "after-checkpoint"]


def empty(folder: Path) -> None:
    """What git does to a folder before it removes it."""
    for path in list(folder.iterdir()):
        path.unlink(missing_ok=True)


def test_a_reconcile_amid_a_removal_brings_no_document_back(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    served.add("a")
    served.app.paths["chat"].unlink()
    monkeypatch.setattr(time, "sleep", lambda _: empty(served.folder.path))
    served.session.reconcile()
    served.folder.path.rmdir()


@pytest.mark.parametrize("made", [".new.", ".chat_new"])
def test_no_first_document_is_made_amid_a_removal(served: Served, monkeypatch: pytest.MonkeyPatch, made: str) -> None:
    """Git has read the folder, and removes what it found in it just before the journal or the chat gets its name."""
    empty(served.folder.path)
    (served.folder.path / "session_new.json").write_text('{"id": "new", "type": "feature", "agentType": "pm"}')

    def step(what: str, path: str | Path) -> None:
        if what == "fsync" and Path(path).name.startswith(made):
            empty(served.folder.path)

    monkeypatch.setattr(disk, "step", step)
    with contextlib.suppress(NotFound), served.store.sessions.using("new") as session:
        session.reconcile()
    served.folder.path.rmdir()


def test_a_session_that_is_found_gone_while_it_closes_is_closed(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever makes its worktree anew closes it, and is not to hear that it is gone."""
    # Who saves the index just then waits for a plan that waits here for whoever closes, who waits for him.
    monkeypatch.setattr(Projections, "_save", lambda *_: None)
    journal, began, go = served.session._journal, threading.Event(), threading.Event()

    def find_gone(_: dict[str, bytes]) -> tuple[list[Record], None]:
        began.set()
        go.wait()
        journal.gone = NotFound("is gone", hint="Ask for it again.")
        return [], None

    with ThreadPoolExecutor() as threads:
        found = threads.submit(journal.submit, find_gone, True)
        began.wait()
        closed = threads.submit(served.session.close)
        while not journal._queue._waiting:
            time.sleep(0.001)
        go.set()
        assert found.result() is None and closed.result() is None
    assert served.session.closed


@pytest.mark.parametrize("opened", [True, False])
def test_a_session_that_was_deleted_on_purpose_is_not_made_again(served: Served, opened: bool) -> None:
    served.add("a")
    if not opened:
        served.close()
    for path in list(served.folder.path.iterdir()):
        path.unlink(missing_ok=True)
    if opened:
        with pytest.raises(NotFound):
            served.session.add([{"role": "user", "content": "x"}])
        served.store.reconciler.reconcile()
        served.session.reconcile()
        served.close()
    store = Store(served.project, Index(served.index_file))
    assert store.reconciler.reconcile() == [] and store.catalogue.find(served.session.id).gone
    store.close()
    assert list(served.folder.path.iterdir()) == []


# --- a session that has no journal yet ----------------------------------------------------------------------------


def test_documents_of_the_app_get_a_journal(served: Served) -> None:
    served.close()
    _deleted_with_what_is_kept(served)
    foreign: dict[str, Any] = served.app.read("session") | {"createdAt": "2025-05-05T05:05:05.000Z", "own": 1}
    foreign.pop("dagentd")
    served.app.write(foreign, "session")
    served.app.write(App.chat_of([said("a"), said(None, "no id")]) | {"theme": "dark"})
    served.app.write(served.app.new_checkpoint(7, "2026-01-01T00:00:00.000Z", decisions=["d"]), "checkpoint")
    served.open()
    served.flush()
    assert served.written()[0] == "a" and len(served.shown()) == 2
    assert served.app.read()["theme"] == "dark"
    assert served.app.read("checkpoint")["version"] == 7
    now = served.app.read("session")
    assert (now["createdAt"], now["own"]) == ("2025-05-05T05:05:05.000Z", 1)
    assert os.path.samefile(served.kept[-1], served.journal)
