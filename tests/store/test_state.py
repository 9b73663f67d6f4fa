"""What a journal adds up to: the same from the index, from scratch, and from a list that is kept by hand."""

from __future__ import annotations

import contextlib
import os
import resource
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dagentd.errors import CorruptFile, LimitReached, NotFound
from dagentd.model import jsontext, records
from dagentd.model.records import Record
from dagentd.store.journal import entries, opening, recovery
from dagentd.store.journal.index import Index
from dagentd.store.journal.journal import Journal
from dagentd.store.journal.state import State
from tests.store.app import App, said
from tests.store.served import Served

IDS = [f"m{number}" for number in range(8)]
AT = "2026-01-17T12:00:00.000Z"


class Naive:
    """The same by hand: every message in one list, and which of them are in chat."""

    def __init__(self) -> None:
        self.order: list[str] = []
        self.here: set[str] = set()
        self.content: dict[str, Any] = {}
        self.session: dict[str, Any] = {}
        self.checkpoint: dict[str, Any] | None = None

    def apply(self, record: Record) -> None:
        body = record.body
        if record.t in ("message", "edit"):
            self._arrive(body, edit=record.t == "edit")
        elif record.t == "left":
            self.here -= set(body["ids"])
        elif record.t == "back":
            self.here |= set(body["ids"]) & set(self.order)
        elif record.t == "session":
            self.session |= body["set"]
        if "checkpoint" in body:
            five = ("completed", "inProgress", "pending", "blockers", "decisions")
            lists = {name: [] for name in five} | body["checkpoint"].get("summary", {})
            self.checkpoint = body["checkpoint"] | {"summary": lists}

    def _arrive(self, body: dict[str, Any], edit: bool) -> None:
        raw = body["message"]
        if raw["id"] not in self.order:
            after = body.get("after", self.order[-1] if self.order else None)
            if after is not None and after not in self.order:
                after = self.order[-1] if self.order else None
            self.order.insert(self.order.index(after) + 1 if after is not None else 0, raw["id"])
            self.here.add(raw["id"])
            self.content[raw["id"]] = raw
        elif edit:
            self.content[raw["id"]] = raw


some_ids = st.lists(st.sampled_from(IDS), max_size=6, unique=True)
texts = st.text(max_size=8)
docs = st.fixed_dictionaries({"version": st.integers(1, 9), "x": texts})


def _message(message_id: str, text: str, after: list[Any]) -> Record:
    raw = said(message_id, text or "-")
    placed = {"after": after[0]} if after else {}
    return records.message(raw, jsontext.encode(raw), AT, **placed)


def _edit(message_id: str, text: str) -> Record:
    raw = said(message_id, text or "-")
    return records.edit(raw, jsontext.encode(raw), AT)


others: st.SearchStrategy[list[Any]] = st.sampled_from([None, "unknown", *IDS]).map(lambda one: [one])
afters: st.SearchStrategy[list[Any]] = st.one_of(st.just([]), others)
steps = st.lists(
    st.one_of(
        *[st.builds(_message, st.sampled_from(IDS), texts, afters)] * 4,
        st.builds(_edit, st.sampled_from(IDS), texts),
        st.builds(lambda ids: records.left(ids, "external", AT), some_ids),
        st.builds(lambda ids, doc: records.left(ids, "compacted", AT, doc), some_ids, docs),
        st.builds(lambda ids: records.back(ids, AT), some_ids),
        st.builds(lambda ids, doc: records.back(ids, AT, doc), some_ids, docs),
        st.builds(lambda doc: records.checkpoint(doc, AT), docs),
        st.builds(lambda value: records.session({"status": value}, AT), texts),
        st.sampled_from(["save", "reload", "full", "freed"]),
    ),
    max_size=40,
)


class Bench:
    """A journal that is written record by record, its state kept beside it by way of an index."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "history.jsonl"
        self.path.write_bytes(b"")
        self.index = Index(None)
        self.journal = Journal.open(self.path)
        self.state = self.read(self.index)

    def read(self, index: Index) -> State:
        state = recovery.read_state(self.journal, index.journal(self.path))
        opening.fill_lines(state, self.journal, None)
        return state

    def apply(self, record: Record) -> None:
        line = record.line()
        start = self.journal.append(line)
        self.state.apply(records.parse(line)[0], start, line)  # as from another process: nothing is known to be new

    def reload(self) -> None:
        self.state.save(None)
        self.state = self.read(self.index)

    def close(self) -> None:
        self.journal.close()
        self.index.close()


def told(state: State, bench: Bench) -> dict[str, Any]:
    """All that can be asked of a state, whatever ranks it has given."""
    everything = state.entries.before(None, 1 << 30)
    read = bench.journal.read_record
    return {
        "chat": [entry.raw() for entry in state.entries.ordered()],
        "order": [entry.id for entry in everything],
        "contents": [read(entry.start, entry.end).body["message"] for entry in everything],
        "entries": [(e.id, e.start, e.end, e.stamp, e.core, e.versions, e.moves) for e in everything],
        "session": state.session,
        "checkpoint": state.checkpoint,
        "checkpoints": [state.checkpoint_of_version(version) for version in range(10)],
        "position": (state.pos, state.sum, state.chat_pos, state.checkpoint_pos),
        "totals": state.totals,
        "times": (state.last_at, state.set_at, state.compacted_outside),
        "unknown": state.unknown,
    }


def _play(folder: Path, played: list[Record | str]) -> None:
    bench, naive = Bench(folder), Naive()
    for step in played:
        if isinstance(step, Record):
            bench.apply(step)
            naive.apply(step)
        elif step == "save":
            bench.state.save(None)
        elif step in ("full", "freed"):  # the disk of the index
            bench.index._db.execute(f"pragma query_only = {'on' if step == 'full' else 'off'}")
        else:
            bench.reload()
    found = told(bench.state, bench)
    assert found["order"] == naive.order
    assert found["chat"] == [naive.content[one] for one in naive.order if one in naive.here]
    assert found["contents"] == [naive.content[one] for one in naive.order]
    assert found["session"] == naive.session and found["checkpoint"] == naive.checkpoint
    bench.index._db.execute("pragma query_only = off")
    bench.reload()
    assert told(bench.state, bench) == found
    assert told(bench.read(Index(None)), bench) == found
    bench.close()


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(played=steps)
def test_from_the_index_from_scratch_and_by_hand(played: list[Record | str], tmp_path: Path) -> None:
    _play(tmp_path, played)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(played=steps)
def test_when_there_is_hardly_room_between_two_messages(played: list[Record | str], tmp_path: Path) -> None:
    """With ranks this close, every third message that is put between others needs them all put apart again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entries, "STRIDE", 2)
        _play(tmp_path, played)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(played=steps)
def test_what_was_in_chat_at_an_earlier_position(played: list[Record | str], tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    at: dict[int, tuple[set[str], dict[str, Any], Any]] = {}
    for step in played:
        if isinstance(step, Record):
            bench.apply(step)
            state = bench.state
            at[state.pos] = ({entry.id for entry in state.entries.ordered()}, dict(state.session), state.checkpoint)
        else:
            bench.reload()
    for pos, (ids, session, checkpoint) in at.items():
        assert {entry.id for entry in bench.state.entries.before(None, 1 << 30) if entry.here_at(pos)} == ids
        assert bench.state.session_at(pos) == session and bench.state.checkpoint_at(pos) == checkpoint
    bench.close()


def test_put_behind_one_whose_follower_has_left(tmp_path: Path) -> None:
    played = [_message("m0", "x", []), _message("m1", "x", []), records.left(["m1"], "external", AT)]
    _play(tmp_path, [*played, "reload", _message("m2", "x", ["m0"])])


@pytest.mark.parametrize("between", ["reload", "save"])
def test_put_before_one_that_was_first_and_has_left(tmp_path: Path, between: str) -> None:
    played = [_message("m0", "x", []), _message("m1", "x", [None]), records.left(["m1"], "external", AT)]
    _play(tmp_path, [*played, between, _message("m2", "x", [None])])


@pytest.mark.parametrize("between", ["reload", "save", "full"])
def test_many_put_behind_the_same_one(tmp_path: Path, between: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each halves the room, until all are put apart again: those in chat, those that left, those not yet saved."""
    monkeypatch.setattr(entries, "STRIDE", 8)
    played: list[Record | str] = [_message("first", "x", []), _message("last", "x", [])]
    for number in range(30):
        played.append(_message(f"n{number}", "x", ["first"]))
        if number % 4 == 0:
            played.append(records.left([f"n{number}"], "external", AT))
        if number % 7 == 1:
            played.append(between)
    _play(tmp_path, played)


def test_a_long_run_put_before_everything(tmp_path: Path) -> None:
    """An older chat that is imported in front: each message after the one before."""
    played: list[Record | str] = [_message("m0", "last", [])]
    last: Any = None
    for number in range(3000):
        played.append(_message(f"n{number}", "x", [last]))
        last = f"n{number}"
    _play(tmp_path, played)


# --- history in pages ---------------------------------------------------------------------------------------------


def test_history_in_pages(served: Served) -> None:
    ids = [f"n{number}" for number in range(25)]
    served.session.add([{"id": one, "role": "user", "content": one} for one in ids[:10]])
    served.session.clear()
    served.session.add([{"id": one, "role": "user", "content": one} for one in ids[10:]])
    pages, before = [], None
    while True:
        page, more = served.session.history(before=before, limit=10)
        pages.append([one["id"] for one in page])
        if not more:
            break
        before = pages[-1][0]
    assert pages == [ids[15:], ids[5:15], ids[:5]]
    assert served.session.history(before="n0") == ([], False)
    with pytest.raises(NotFound):
        served.session.history(before="never seen")


def test_history_shows_the_latest_content_of_what_has_left(served: Served) -> None:
    served.app.push(said("a", "before"))
    served.flush()
    raw = served.app.read()
    raw["messages"][0]["content"] = "after"
    served.app.write(raw)
    served.flush()
    served.session.clear()
    served.again()
    assert [one["content"] for one in served.session.history()[0]] == ["after"]


# --- opening --------------------------------------------------------------------------------------------------------


def test_opening_a_long_session_reads_little_of_its_journal(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    served.session.add([{"role": "user", "content": "x" * 1000} for _ in range(5000)])
    served.flush()
    served.close()
    journal, size = served.journal.stat(), served.journal.stat().st_size
    read = [0]
    pread = os.pread

    def counted(fd: int, length: int, offset: int) -> bytes:
        data = pread(fd, length, offset)
        if os.path.samestat(os.fstat(fd), journal):
            read[0] += len(data)
        return data

    monkeypatch.setattr(os, "pread", counted)
    served.open()
    assert len(served.session.chat()) == 5000
    assert 0 < read[0] < size / 5
    served.session.add([{"role": "user", "content": "one more"}])
    assert read[0] < size / 5


# --- an index that fails ----------------------------------------------------------------------------------------------


def _works(served: Served) -> None:
    """Adding, refusing, clearing, history: also of what only the index knew."""
    served.session.add([{"id": "left", "role": "user", "content": "text of left"}])  # known: not stored again
    served.add("new")
    assert served.shown() == ["kept", "new"] and served.all() == ["left", "kept", "new"]
    served.session.clear()
    served.add("last")
    assert served.written() == ["left", "kept", "new", "last"] and served.shown() == ["last"]
    served.again()
    assert served.all() == ["left", "kept", "new", "last"] and served.shown() == ["last"]


@pytest.fixture
def used(served: Served) -> Served:
    served.add("left")
    served.session.clear()
    served.add("kept")
    return served


def _removed(path: Path) -> None:
    for each in path.parent.glob(f"{path.name}*"):
        each.unlink()


def _garbage(path: Path) -> None:
    _removed(path)
    path.write_bytes(b"not a database" * 1000)


def _torn(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _damaged_inside(path: Path) -> None:
    """The first page stays: it opens, and fails when it is asked."""
    data = bytearray(path.read_bytes())
    for start in range(4096, len(data), 4096):
        data[start : start + 200] = b"\xff" * 200
    path.write_bytes(data)


def _damaged_where_messages_are(path: Path) -> None:
    """It opens, and says where a session's messages begin; only they cannot be read."""
    db = sqlite3.connect(path)
    roots = [row[0] for row in db.execute("select rootpage from sqlite_master where tbl_name = 'messages'")]
    db.close()
    data = bytearray(path.read_bytes())
    for root in roots:
        data[(root - 1) * 4096 : root * 4096] = b"\xff" * 4096
    path.write_bytes(data)


def _a_folder(path: Path) -> None:
    _removed(path)
    path.mkdir()


def _of_another_version(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("pragma user_version = 99")
    db.close()


HARMS = (
    _removed, _garbage, _torn, _damaged_inside, _damaged_where_messages_are, _a_folder, _of_another_version
)  # fmt: skip


@pytest.mark.parametrize("harm", HARMS)
def test_an_index_that_was_damaged_while_closed(used: Served, harm: Callable[[Path], None]) -> None:
    used.close()
    assert used.index_file is not None
    harm(used.index_file)
    used.open()
    used.flush()
    _works(used)


def test_sessions_opened_after_the_index_was_found_damaged(used: Served) -> None:
    """It is shared: one session finds out, and the others are read from their journals."""
    used.again()  # or the index would hold nothing of it yet, and not be asked
    used._index._db.set_authorizer(lambda *_: sqlite3.SQLITE_DENY)
    with pytest.raises(CorruptFile, match="the index is damaged"):
        used.session.add([{"id": "unknown", "role": "user", "content": "x"}])
    other = used.store.maker.get_or_create("task", "dev", used.feature, "t1", "in_dev")
    other.add([{"id": "a", "role": "user", "content": "x"}])
    other.clear()
    assert [one["id"] for one in other.history()[0]] == ["a"]
    used.again()
    _works(used)


def test_an_index_that_cannot_be_written(used: Served) -> None:
    used._index._db.execute("pragma query_only = on")
    used.app.write(App.chat_of([said("first"), *used.app.read()["messages"]]))
    used.flush()
    assert used.shown() == ["first", "kept"] and used.all() == ["first", "left", "kept"]


def test_an_index_whose_disk_is_full_when_it_is_out_of_date(used: Served) -> None:
    """What it holds of this session is to be deleted first, and only that write fails."""
    used.close()
    assert used.index_file is not None
    with contextlib.closing(sqlite3.connect(used.index_file)) as db, db:
        db.execute("""update journals set header = '{"pos": 1, "sum": "of another journal"}'""")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    index = Index(used.index_file)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        with pytest.raises(LimitReached, match="the index cannot be used now"):
            index.journal(used.session.folder.journal).forget()
        with contextlib.closing(Journal.open(used.session.folder.journal)) as journal:
            state = recovery.read_state(journal, index.journal(journal.path))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        index.close()
    assert [entry.id for entry in state.entries.everything()] == ["left", "kept"]
    used.open()
    _works(used)


def test_an_index_that_cannot_be_made(project: Any, tmp_path: Path) -> None:
    served = Served(project.worktree, project.feature, tmp_path / "no such folder" / "index")
    served.add("left")
    served.session.clear()
    served.add("kept")
    _works(served)
    served.close()
