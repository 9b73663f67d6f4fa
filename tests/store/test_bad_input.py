"""What nobody should have written: each gets one clear error naming the file, and nothing is lost or replaced."""

from __future__ import annotations

import errno
import json
import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from dagentd.adapters import clock
from dagentd.adapters.files import disk
from dagentd.errors import DagentdError, InvalidInput, LimitReached, NotAllowed, NotFound
from dagentd.model.problem import Problem
from dagentd.store.documents import document_writer
from dagentd.store.journal.index import Index
from dagentd.store.sessions.session import Session
from dagentd.store.store import Store
from tests.permissions import mode, ordinary
from tests.store.place import DEV, FEATURE, NESTED, PM, PM_NESTED, TASK, Place, said
from tests.torture import reader

SETTLE = 0.004


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_writer, "_APART", 0.0)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "p").make()


@pytest.fixture
def used(place: Place) -> Place:
    """With a session that has two messages and a journal."""
    with place.session() as session:
        session.add(said("a", "b"))
    return place


def without_journal(place: Place) -> None:
    """The five documents as the app leaves them, before dagentd has seen them."""
    place.pm.folder.mkdir(exist_ok=True)
    documents: dict[Path, Any] = {
        place.pm.session: {"id": PM, "type": "feature", "createdAt": "2026-01-01T00:00:00.000Z", "status": "active"},
        place.pm.chat: {"messages": said("a", "b")},
        place.pm.checkpoint: {"version": 2, "summary": {"decisions": ["d"]}},
    }
    for path, raw in documents.items():
        path.write_text(json.dumps(raw))


def reconciled(place: Place) -> tuple[list[str], list[Problem]]:
    """The sessions that could be served, and all that is wrong."""
    with place.store(SETTLE) as store:
        served = store.reconciler.reconcile()
        found = [*store.problems, *(problem for session in served for problem in session.problems)]
        return [session.id for session in served], found


def named(problems: list[Problem], path: Path) -> Problem:
    found = [problem for problem in problems if problem.path == str(path)]
    assert len(found) == 1, problems
    assert found[0].message and found[0].hint
    return found[0]


def clear(error: DagentdError, path: Path) -> None:
    assert error.path == str(path) and error.message and error.hint


# --- documents that make no sense -------------------------------------------------------------------------


def _cut(good: bytes) -> bytes:
    return good[: len(good) // 2]


GARBAGE = bytes(range(128, 256)) * (50 << 13)  # 50 MiB
DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "cut": _cut,
    "empty": lambda _: b"",
    "blank": lambda _: b" \n",
    "nul": lambda good: bytes(len(good)),
    "garbage": lambda _: GARBAGE,
    "utf-8": lambda good: good.replace(b'"', b'"\xff', 1),
    "raw-surrogate": lambda good: good.replace(b'"', b'"\xed\xa0\x80', 1),
    "twice": lambda good: b'{"extra": 1, "extra": 2,' + good.lstrip()[1:],
    "list": lambda good: b"[" + good + b"]",
    "number": lambda _: b"5",
    "deep": lambda _: b'{"a":' * 100_000,
    "big-number": lambda good: good.rstrip()[:-1] + b', "n": ' + b"9" * 5000 + b"}",
    "trailing": lambda good: good + b"}",
}
WRONG = {"chat": b'{"messages": 5}', "checkpoint": b'{"version": 1, "summary": {"completed": 5}}'}
CASES = [(name, damage) for name in ("chat", "checkpoint", "session") for damage in DAMAGE]
CASES += [(name, "wrong-type") for name in WRONG]


def _damage(place: Place, name: str, damage: str) -> tuple[Path, bytes]:
    path = {"chat": place.pm.chat, "checkpoint": place.pm.checkpoint, "session": place.pm.session}[name]
    data = WRONG[name] if damage == "wrong-type" else DAMAGE[damage](path.read_bytes())
    path.write_bytes(data)
    return path, data


@pytest.mark.turns(3)
@pytest.mark.parametrize(("name", "damage"), CASES)
def test_a_document_that_a_journal_can_replace_is_set_aside(used: Place, name: str, damage: str) -> None:
    path, data = _damage(used, name, damage)
    served, problems = reconciled(used)
    moved = path.with_name(f"{path.name}.corrupt.1")
    assert served == [PM] and moved.read_bytes() == data
    named(problems, moved)
    told = reader.agree(used.pm)
    assert told.chat == ["a", "b"]
    reader.once(told, {"a", "b"})
    assert reconciled(used) == ([PM], [])
    assert used.pm.beside(path, "corrupt") == [moved]


@pytest.mark.turns(3)
@pytest.mark.parametrize(("name", "damage"), CASES)
def test_a_document_that_nothing_can_replace_is_left_alone(place: Place, name: str, damage: str) -> None:
    without_journal(place)
    path, data = _damage(place, name, damage)
    others = {other: other.read_bytes() for other in place.pm.projections()}
    served, problems = reconciled(place)
    assert served == []
    named(problems, path)
    assert path.read_bytes() == data and {other: other.read_bytes() for other in others} == others
    assert sorted(os.listdir(place.pm.folder)) == sorted(other.name for other in others)
    with place.store(SETTLE) as store, pytest.raises(DagentdError) as caught:
        store.maker.get_or_create("feature", "pm", FEATURE)
    clear(caught.value, path)
    assert path.read_bytes() == data


def test_once_mended_it_is_served(place: Place) -> None:
    without_journal(place)
    good = place.pm.chat.read_bytes()
    place.pm.chat.write_bytes(good[:20])
    with place.store(SETTLE) as store:
        assert store.reconciler.reconcile() == []
        place.pm.chat.write_bytes(good)
        assert [session.id for session in store.reconciler.reconcile()] == [PM] and not store.problems
    assert reader.agree(place.pm).chat == ["a", "b"]


def test_one_bad_session_stops_nobody(used: Place) -> None:
    with used.store() as store:
        store.maker.get_or_create("task", "dev", FEATURE, TASK, "in_dev").add(said("c"))
    used.pm.journal.unlink()
    for kept in used.kept.glob(f"{PM}.*"):
        kept.unlink()
    used.pm.chat.write_bytes(b"{")
    served, problems = reconciled(used)
    assert served == [DEV]
    named(problems, used.pm.chat)


@pytest.mark.parametrize("journal", [True, False])
def test_half_an_emoji_is_kept(place: Place, journal: bool) -> None:
    """JSON can hold what UTF-8 cannot: an escape that is half of a pair."""
    text = r'{"messages": [{"id": "h\ud83d", "role": "user", "content": "cut \ud83d off", "timestamp": "\udc00"}]}'
    without_journal(place)
    if journal:
        reconciled(place)
    place.pm.chat.write_text(text)
    served, problems = reconciled(place)
    assert served == [PM] and not problems
    told = reader.agree(place.pm)
    assert told.content["h\ud83d"]["content"] == "cut \ud83d off"
    assert rb"cut \ud83d off" in place.pm.chat.read_bytes() and rb"cut \ud83d off" in place.pm.journal.read_bytes()
    with place.session() as session:
        assert session.history(before="h\ud83d")[1] is False
        session.add([{"id": "x", "role": "user", "content": {"\udfff": ["\ud800\x00\u2028"]}}])
    assert reader.agree(place.pm).content["x"]["metadata"]["content"] == {"\udfff": ["\ud800\x00\u2028"]}


def test_what_json_has_no_number_for_becomes_null(place: Place) -> None:
    without_journal(place)
    place.pm.chat.write_text('{"messages": [{"id": "n", "role": "user", "content": [NaN, 1e999, -Infinity]}]}')
    assert reconciled(place) == ([PM], [])
    chat = json.loads(place.pm.chat.read_bytes(), parse_constant=lambda name: pytest.fail(name))
    assert chat["messages"][0]["metadata"]["content"] == [None, None, None]


def test_entries_that_are_no_messages_are_kept_in_a_copy(used: Place) -> None:
    chat = reader.whole(used.pm.chat)
    chat["messages"] += [5, None, "text", [1]]
    data = json.dumps(chat).encode()
    used.pm.chat.write_bytes(data)
    served, problems = reconciled(used)
    copy = used.pm.chat.with_name(f"{used.pm.chat.name}.corrupt.1")
    assert served == [PM] and copy.read_bytes() == data
    named(problems, copy)
    with used.session() as session:
        session.add(said("c"))
    assert reader.agree(used.pm).chat == ["a", "b", "c"] and used.pm.beside(used.pm.chat, "corrupt") == [copy]


@pytest.mark.turns(3)
@pytest.mark.parametrize("pos", [10**30, 10**15, -1, -(10**30), True, 1.5, "5", None, [], 2**63, 2**63 - 1])
@pytest.mark.parametrize("check", ["0123456789abcdef", "", 5])
def test_a_position_that_cannot_be(used: Place, pos: Any, check: Any) -> None:
    """It must neither be believed nor take for ever to look up."""
    for path in used.pm.projections():
        raw = reader.whole(path) | {"dagentd": {"pos": pos, "sum": check}}
        if "messages" in raw:
            raw["messages"] += said("c")
        path.write_text(json.dumps(raw))
    assert reconciled(used) == ([PM], [])
    assert reader.agree(used.pm).chat == ["a", "b", "c"]


@pytest.mark.turns(2)
@pytest.mark.parametrize("version", ["3", 3.0, True, "x", None, [], 10**40])
@pytest.mark.parametrize("journal", [True, False])
def test_a_checkpoint_version_of_another_kind(place: Place, version: Any, journal: bool) -> None:
    without_journal(place)
    if journal:
        reconciled(place)
    raw = reader.whole(place.pm.checkpoint) | {"version": version, "summary": {"completed": ["theirs"]}}
    place.pm.checkpoint.write_text(json.dumps(raw))
    served, problems = reconciled(place)
    assert served == [PM] or named(problems, place.pm.checkpoint)
    if not served:
        return
    with place.session() as session:
        session.update_checkpoint({"summary": {"completed": ["ours"]}})
        raw = reader.whole(place.pm.checkpoint) | {"version": version, "summary": {"completed": ["theirs again"]}}
        place.pm.checkpoint.write_text(json.dumps(raw))
        session.reconcile()
    reader.agree(place.pm)
    assert isinstance(reader.whole(place.pm.checkpoint)["version"], int)


@pytest.mark.parametrize(
    "changes", [{"summary": 5}, {"summary": {"completed": 5}}, {"summary": {"decisions": "text"}}, {"summary": None}]
)
def test_a_checkpoint_that_we_could_not_read_again_is_not_stored(used: Place, changes: dict[str, Any]) -> None:
    before = used.pm.journal.read_bytes()
    with used.session() as session, pytest.raises(InvalidInput) as caught:
        session.update_checkpoint(changes)
    assert "summary" in caught.value.message and caught.value.hint
    assert used.pm.journal.read_bytes() == before
    assert reconciled(used) == ([PM], [])


@pytest.mark.parametrize("depth", [150, 300, 500, 900, 950, 980, 990, 1000, 3000])
def test_nested_deeply(place: Place, depth: int) -> None:
    """Served or refused as a whole; never taken in and then unreadable, and no bug."""
    nested: Any = "x"
    for _ in range(depth):
        nested = [nested]
    text = "[" * depth + '"x"' + "]" * depth
    without_journal(place)
    place.pm.chat.write_text('{"messages": [{"id": "d", "role": "user", "content": ' + text + "}]}")
    feature = place.flat / "feature.json"
    feature.write_text(f'{{"id": "{FEATURE}", "theirs": {text}}}')
    before = feature.read_bytes()
    served, problems = reconciled(place)
    with place.store(SETTLE) as store:
        try:
            store.maker.get_or_create("feature", "pm", FEATURE)
        except DagentdError as error:
            assert error.path in (str(feature), str(place.pm.chat)) and error.hint
            assert feature.read_bytes() == before
    if served:
        assert _deeper(200, lambda: reconciled(place)[0]) == [PM]
        with place.session() as session:
            assert session.messages()[0][0]["metadata"]["content"] == nested
    else:
        named(problems, place.pm.chat)


def _deeper(frames: int, act: Callable[[], Any]) -> Any:
    return act() if not frames else _deeper(frames - 1, act)


@pytest.mark.parametrize("depth", [100, 400, 900, 960, 2000, 100_000])
def test_a_message_nested_deeply_is_refused_or_readable(used: Place, depth: int) -> None:
    nested: Any = "x"
    for _ in range(depth):
        nested = {"a": nested}
    stored = True
    with used.session() as session:
        try:
            session.add([{"id": "deep", "role": "user", "content": nested}])
        except InvalidInput as error:
            assert error.hint
            stored = False
    while isinstance(nested, dict):
        nested = nested.pop("a")  # frees it without recursion
    assert _deeper(200, lambda: reconciled(used)) == ([PM], [])
    assert ("deep" in reader.agree(used.pm).chat) == stored
    assert stored or depth > 100


def test_journal_lines_that_are_no_records_of_ours(used: Place) -> None:
    odd = [
        b"5", b"null", b"[]", b'""', b"{}", b'{"t": 5}', b'{"t": "message"}', b'{"t": "message", "message": 5}',
        b'{"t": "message", "message": {"id": 5}}', b'{"t": "edit", "message": {}}', b'{"t": "left", "ids": 5}',
        b'{"t": "left", "ids": [5, null, {}]}', b'{"t": "back", "ids": {"a": 1}}', b'{"t": "back", "ids": ["nobody"]}',
        b'{"t": "checkpoint", "checkpoint": 5}', b'{"t": "session", "set": []}', b'{"t": "newer", "optional": true}',
        b'{"t": "message", "after": 5, "at": 5, "message": {"id": "odd", "role": [], "content": null}}',
        b'{"t": "message", "after": "nobody", "message": {"id": "o2"}}', b"\xff\xfe", b"\0" * 10, b"",
        b'{"t": "edit", "message": {"id": "o3", "content": 1}}',
    ]  # fmt: skip
    with used.pm.journal.open("ab") as file:
        file.write(b"".join(line + b"\n" for line in odd))
    served, problems = reconciled(used)
    assert served == [PM] and {problem.path for problem in problems} == {str(used.pm.journal)}
    with used.session() as session:
        session.add(said("after"))
        assert [raw["id"] for raw in session.chat()] == ["a", "b", "odd", "o2", "o3", "after"]
        assert [raw["id"] for raw in session.history()[0]] == ["a", "b", "odd", "o2", "o3", "after"]
    data = used.pm.journal.read_bytes()
    assert all(line + b"\n" in data for line in odd)


# --- names of files in session.json -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "files",
    [
        {"chat": f"history_{PM}.jsonl"},
        {"chat": f"checkpoint_{PM}.json"},
        {"checkpoint": f"session_{PM}.json"},
        {"chat": "mine.json", "checkpoint": "mine.json"},
        {"chat": "../feature.json"},
        {"chat": "/etc/passwd"},
        {"chat": "a\0b"},
        {"chat": 5},
        {"context": f"chat_{PM}.json"},
        5,
        [],
    ],
)
def test_names_that_would_make_two_documents_one(used: Place, files: Any) -> None:
    used.pm.folder.joinpath("mine.json").write_text(json.dumps({"messages": said("a", "b")}))
    journal = used.pm.journal.read_bytes()
    raw = reader.whole(used.pm.session)
    used.pm.session.write_text(json.dumps(raw | {"files": files}))
    served, _ = reconciled(used)
    assert served == [PM] and used.pm.journal.read_bytes().startswith(journal)
    with used.session() as session:
        session.add(said("c"))
        session.replace("context", {"theirs": 1})
    told = reader.read_journal(used.pm.journal)
    assert told.chat == ["a", "b", "c"] and not told.bad_lines
    reader.once(told, {"a", "b", "c"})
    assert not list(used.pm.folder.glob("*.corrupt.*"))


# --- feature.json and task.json -----------------------------------------------------------------------------


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_feature_that_makes_no_sense_is_named_and_left_alone(used: Place, damage: str) -> None:
    path = used.flat / "feature.json"
    data = DAMAGE[damage](path.read_bytes())
    path.write_bytes(data)
    with used.store(SETTLE) as store:
        with pytest.raises(DagentdError) as caught:
            store.maker.get_or_create("feature", "qa", FEATURE)
        clear(caught.value, path)
        assert store.session(PM).add(said("c"))  # what needs no feature.json works
    assert path.read_bytes() == data
    assert PM in reconciled(used)[0]


def test_a_feature_of_50_mib(used: Place) -> None:
    path = used.flat / "feature.json"
    data = json.dumps({"id": FEATURE, "name": "x" * (50 << 20)}).encode()
    path.write_bytes(data)
    with used.store() as store, pytest.raises(DagentdError, match="50 MiB") as caught:
        store.maker.get_or_create("feature", "pm", FEATURE)
    clear(caught.value, path)
    assert path.stat().st_size == len(data)


@pytest.mark.parametrize("damage", ["cut", "empty", "nul", "twice", "number"])
def test_a_task_that_makes_no_sense_is_named_and_left_alone(place: Place, damage: str) -> None:
    path = place.flat / "nodes" / TASK / "task.json"
    path.parent.mkdir(parents=True)
    data = DAMAGE[damage](b'{"id": "task-1", "states": {}}')
    path.write_bytes(data)
    with place.store() as store, pytest.raises(DagentdError) as caught:
        store.maker.get_or_create("task", "dev", FEATURE, TASK, "in_dev")
    clear(caught.value, path)
    assert path.read_bytes() == data


@pytest.mark.parametrize("states", [5, [], None, {"in_dev": 5}, {"in_dev": {"sessionIds": 5}}])
def test_a_task_with_a_number_where_a_list_should_be(place: Place, states: Any) -> None:
    """Ours to write in: what was there in the way is replaced, all else stays."""
    path = place.flat / "nodes" / TASK / "task.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"id": TASK, "states": states, "theirs": 1}))
    with place.store() as store:
        store.maker.get_or_create("task", "dev", FEATURE, TASK, "in_dev")
    task = reader.whole(path)
    assert task["states"]["in_dev"]["sessionIds"] == [DEV] and task["theirs"] == 1


# --- ids ------------------------------------------------------------------------------------------------------

BAD_IDS = [
    "", "/", "a/b", "..", "../x", "a..b", ".hidden", "-x", "a\0b", "x" * 201, "x" * 300, "cafe\u0301", "café",
    "a b", "a\n", "a\\b", "\ud800", "ａ", "a\u202eb",
]  # fmt: skip


@pytest.mark.parametrize("bad", BAD_IDS, ids=ascii)
def test_an_id_that_could_not_be_part_of_a_path(used: Place, bad: str) -> None:
    before = sorted(used.root.rglob("*"))
    with used.store() as store:
        asks: list[Callable[[], object]] = [
            lambda: store.session(bad),
            lambda: store.catalogue.find(bad),
            lambda: store.catalogue.feature(bad),
            lambda: store.maker.get_or_create("feature", "pm", bad),
            lambda: store.maker.get_or_create("feature", bad, FEATURE),
            lambda: store.maker.get_or_create("task", "dev", FEATURE, bad, "in_dev"),
            lambda: store.maker.get_or_create("task", "dev", FEATURE, TASK, bad),
            lambda: store.maker.get_or_create(bad, "dev", FEATURE),
        ]
        for ask in asks:
            with pytest.raises(InvalidInput) as caught:
                ask()
            assert caught.value.hint and len(str(caught.value)) < 200
            str(caught.value).encode()
    assert sorted(used.root.rglob("*")) == before


def test_an_id_that_is_too_long_only_as_a_whole(place: Place) -> None:
    task = "t" * 190
    with place.store() as store, pytest.raises(InvalidInput):
        store.maker.get_or_create("task", "dev", FEATURE, task, "in_dev")
    assert not (place.flat / "nodes").exists() and not (place.flat / "sessions").exists()


def test_the_longest_id_has_files(place: Place) -> None:
    task = "t" * (200 - len(f"dev-task-{FEATURE}--in_dev"))
    with place.store() as store:
        session = store.maker.get_or_create("task", "dev", FEATURE, task, "in_dev")
        assert len(session.id) == 200
        session.add(said("a"))
    assert reader.agree(reader.Files(place.flat / "sessions", session.id)).chat == ["a"]


@pytest.mark.parametrize("bad", ["", "x" * 201, 5, None, ["a"]])
def test_a_message_id_that_is_none(used: Place, bad: Any) -> None:
    with used.session() as session:
        if bad is None:  # asks for one
            assert session.add([{"id": None, "role": "user", "content": ""}])[0]["id"]
            return
        with pytest.raises(InvalidInput) as caught:
            session.add([{"id": "fine", "role": "user", "content": ""}, {"id": bad, "role": "user", "content": ""}])
        assert caught.value.hint and [raw["id"] for raw in session.chat()] == ["a", "b"]


def test_message_ids_never_become_paths(used: Place) -> None:
    odd = ["../../x", "a/b", "\0", "cafe\u0301", "café", "\n", '"quoted"', '"half', "\ud800", "🙂", "x" * 200]
    with used.session() as session:
        session.add(said(*odd))
        assert session.add(said(*odd)) and len(session.chat()) == 2 + len(odd)
    with used.session() as session:
        assert [raw["id"] for raw in session.history()[0]] == ["a", "b", *odd]
        assert [session.history(before=one, limit=1)[1] for one in odd] == [True] * len(odd)
    reader.once(reader.agree(used.pm), set(odd))


def test_folders_with_names_of_other_kinds_stop_nobody(used: Place) -> None:
    features = used.root / ".dagent" / "features"
    for name in (b"\xff\xfe", "cafe\u0301".encode(), b"a b", b"x" * 250, b"-rf", b"new\nline"):
        folder = os.path.join(os.fsencode(features), name)
        os.makedirs(os.path.join(folder, b"sessions", b"pm-1"))
        with open(os.path.join(folder, b"sessions", b"pm-1", b"session.json"), "w") as file:
            file.write('{"id": "pm-1"}')
    os.mkdir(os.path.join(os.fsencode(used.pm.folder), b"\xfd"))
    (used.pm.folder / "session_cafe\u0301.json").write_text("{}")
    served, problems = reconciled(used)
    assert served.count("pm-1") == 6 and PM in served and not problems


# --- what is no file --------------------------------------------------------------------------------------------


@pytest.fixture
def secret(tmp_path: Path) -> Iterator[Path]:
    """Outside of the project; nothing in it may be read into a session or written."""
    path = tmp_path / "outside" / "secret.json"
    path.parent.mkdir()
    path.write_text('{"messages": [{"id": "secret", "role": "user", "content": "secret"}], "id": "secret"}')
    before = path.read_bytes()
    yield path
    assert path.read_bytes() == before and os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("name", ["chat", "checkpoint", "session", "journal", "agent"])
@pytest.mark.parametrize("kind", ["link", "dangling", "fifo", "folder"])
def test_what_is_no_regular_file_is_refused(used: Place, secret: Path, name: str, kind: str) -> None:
    path: Path = getattr(used.pm, name)
    path.unlink()
    _put(path, kind, secret)
    served, problems = reconciled(used)
    if name == "agent":
        with used.store(SETTLE) as store, pytest.raises(DagentdError) as caught:
            store.maker.get_or_create("feature", "pm", FEATURE)
        clear(caught.value, path)
    else:
        assert served == []
        named(problems, path)
    assert os.path.lexists(path) and (kind == "link" or not path.is_file())
    (kept,) = used.kept.glob(f"{PM}.*.jsonl")
    assert reader.read_journal(kept).chat == ["a", "b"]


@pytest.mark.parametrize("name", ["chat", "checkpoint", "session"])
@pytest.mark.parametrize("kind", ["link", "fifo"])
def test_a_document_that_becomes_no_regular_file_while_it_is_served(
    used: Place, secret: Path, name: str, kind: str
) -> None:
    """The journal goes on, and the problem is told until it is gone."""
    path: Path = getattr(used.pm, name)
    with used.store(SETTLE) as store:
        session = store.session(PM)
        path.unlink()
        _put(path, kind, secret)
        session.reconcile()
        named(session.problems, path)
        session.add(said("c"))
        session.reconcile()
        assert path.is_symlink() or path.is_fifo()
        path.unlink()
        session.reconcile()
        assert session.problems == []
    assert reader.agree(used.pm).chat == ["a", "b", "c"]


def _put(path: Path, kind: str, secret: Path) -> None:
    if kind == "link":
        path.symlink_to(secret)
    elif kind == "dangling":
        path.symlink_to(secret.with_name("nothing"))
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.mkdir()


@pytest.mark.parametrize("kind", ["link", "dangling", "fifo", "folder"])
def test_a_feature_that_is_no_regular_file(used: Place, secret: Path, kind: str) -> None:
    path = used.flat / "feature.json"
    path.unlink()
    _put(path, kind, secret)
    with used.store(SETTLE) as store, pytest.raises(DagentdError) as caught:
        store.maker.get_or_create("feature", "pm", FEATURE)
    clear(caught.value, path)
    assert os.path.lexists(path)


@pytest.mark.parametrize("where", [".dagent", ".dagent/sessions", ".dagent/nodes", ".dagent/nodes/task-1"])
def test_a_folder_that_leads_out_of_the_worktree(place: Place, tmp_path: Path, where: str) -> None:
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    if where == ".dagent":
        (place.flat / "feature.json").rename(outside / "feature.json")
        place.flat.rmdir()
    path = place.flat.parent / where
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(outside)
    before = sorted(outside.rglob("*"))
    with place.store(SETTLE) as store:
        with pytest.raises(DagentdError) as caught:
            store.maker.get_or_create("task", "dev", FEATURE, TASK, "in_dev")
        assert caught.value.hint
        assert isinstance(caught.value, NotFound if where == ".dagent" else NotAllowed)
        store.reconciler.reconcile()
        assert where.startswith(".dagent/nodes") or named(store.problems, path)
    assert sorted(outside.rglob("*")) == before


def test_a_session_folder_that_leads_out_of_the_worktree(place: Place, tmp_path: Path) -> None:
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    with place.store(SETTLE) as store:
        store.maker.get_or_create("feature", "pm", "feat-nested").add(said("a"))
    place.pm_nested.folder.rename(outside / "moved")
    place.pm_nested.folder.symlink_to(outside / "moved")
    before = {path: path.read_bytes() for path in (outside / "moved").iterdir()}
    with place.store(SETTLE) as store:
        with pytest.raises(DagentdError) as caught:
            store.maker.get_or_create("feature", "pm", "feat-nested")
        clear(caught.value, place.pm_nested.folder)
        store.reconciler.reconcile()
    assert {path: path.read_bytes() for path in (outside / "moved").iterdir()} == before


@pytest.mark.parametrize("kind", ["link", "folder", "fifo"])
def test_a_lock_that_is_no_file(place: Place, secret: Path, kind: str) -> None:
    place.project.own_dir.mkdir()
    _put(place.project.lock_file, kind, secret)
    with pytest.raises(DagentdError) as caught, place.store():
        pass
    clear(caught.value, place.project.lock_file)


@pytest.mark.parametrize("kind", ["link", "folder", "fifo"])
def test_a_leftover_that_is_no_file_stops_nobody(used: Place, secret: Path, kind: str) -> None:
    temp = used.pm.folder / f".{used.pm.chat.name}.1-1.dagentd-tmp"
    _put(temp, kind, secret)
    served, problems = reconciled(used)
    assert served == [PM] and "secret" not in reader.agree(used.pm).arrived
    assert not os.path.lexists(temp) or named(problems, temp)


# --- what may not be written --------------------------------------------------------------------------------------


def test_permissions_count_here(tmp_path: Path) -> None:
    with mode(tmp_path, 0o500), pytest.raises(PermissionError):
        (tmp_path / "x").write_text("")


def test_a_read_only_folder_of_a_session(used: Place) -> None:
    """The journal can be appended; the documents wait, and somebody is told."""
    with mode(used.pm.folder, 0o500), used.store(SETTLE) as store:
        session = store.session(PM)
        session.add(said("c"))
        session.reconcile()
        problem = next(problem for problem in session.problems if problem.id == "documents")
        assert str(used.pm.folder) in problem.path and "permission" in problem.message and problem.hint
        assert [raw["id"] for raw in session.chat()] == ["a", "b", "c"]
    assert reconciled(used) == ([PM], [])
    assert reader.agree(used.pm).chat == ["a", "b", "c"]


def test_a_read_only_folder_without_a_journal(place: Place) -> None:
    without_journal(place)
    before = {path: path.read_bytes() for path in place.pm.folder.iterdir()}
    with mode(place.pm.folder, 0o500):
        served, problems = reconciled(place)
        assert served == []
        assert "permission" in named(problems, place.pm.journal).message
    assert {path: path.read_bytes() for path in place.pm.folder.iterdir()} == before
    assert reconciled(place) == ([PM], [])
    assert reader.agree(place.pm).chat == ["a", "b"] and reader.temps(place.root) == []


def test_a_read_only_folder_with_a_damaged_document(used: Place) -> None:
    used.pm.chat.write_bytes(b"{")
    with mode(used.pm.folder, 0o500):
        served, problems = reconciled(used)
        assert served == [] or problems
        assert any(str(used.pm.folder) in problem.path and problem.hint for problem in problems)
    assert used.pm.chat.read_bytes() == b"{"
    assert reconciled(used)[0] == [PM]
    assert reader.agree(used.pm).chat == ["a", "b"]


def test_a_read_only_folder_with_what_a_crash_left(used: Place) -> None:
    (used.pm.folder / f".{used.pm.chat.name}.1-1.dagentd-tmp").write_bytes(b"{")
    (used.flat / ".feature.json.1-1.dagentd-tmp").write_bytes(b"{")
    with mode(used.pm.folder, 0o500), mode(used.flat, 0o500):
        served, problems = reconciled(used)
        assert served == [PM] and problems
    assert reconciled(used) == ([PM], [])
    assert reader.temps(used.root) == []


def test_a_read_only_journal(used: Place) -> None:
    with mode(used.pm.journal, 0o400):
        served, problems = reconciled(used)
        assert served == []
        assert "permission" in named(problems, used.pm.journal).message
    assert reconciled(used) == ([PM], [])


@pytest.mark.parametrize("name", ["chat", "checkpoint", "session"])
def test_a_document_that_may_not_be_read(used: Place, name: str) -> None:
    path: Path = getattr(used.pm, name)
    data = path.read_bytes()
    with mode(path, 0o000):
        served, problems = reconciled(used)
        assert "permission" in named(problems, path).message and served == []
    assert path.read_bytes() == data
    assert reconciled(used) == ([PM], [])


def test_a_document_that_may_no_longer_be_read_is_named_itself(used: Place) -> None:
    """And not its folder, with which nothing is wrong."""
    with ordinary(), used.store(SETTLE) as store:
        session = store.session(PM)
        used.pm.chat.chmod(0o000)
        session.add(said("c"))
        session.tend(clock.monotonic() + 1)
        assert "permission" in named(session.problems, used.pm.chat).message
        used.pm.chat.chmod(0o600)
    assert reconciled(used) == ([PM], [])
    assert reader.agree(used.pm).chat == ["a", "b", "c"]


@pytest.mark.parametrize("bits", [0o000, 0o400])
@pytest.mark.parametrize("where", [".", "sessions", "nodes", f"nodes/{TASK}", f"nodes/{TASK}/sessions", "..", "../.."])
def test_a_folder_that_may_not_be_looked_into_stops_nobody(used: Place, where: str, bits: int) -> None:
    """And is told of, with the name of the folder that is closed: what cannot be read is not taken for missing."""
    with used.store() as store:
        store.maker.get_or_create("feature", "pm", "feat-nested")
        store.maker.get_or_create("task", "dev", FEATURE, TASK, "in_dev")
    (used.flat / "nodes" / TASK / "sessions").mkdir(exist_ok=True)
    folder = (used.flat / where).resolve()
    with mode(folder, bits):
        served, problems = reconciled(used)
        assert "pm-feature-feat-nested" in served
        told = [(problem.path, problem.message) for problem in problems if problem.id == "folder"]
        assert told == [(str(folder), "permission denied")]
    assert set(reconciled(used)[0]) == {PM, DEV, "pm-feature-feat-nested"}


@pytest.mark.parametrize("where", [".", "sessions", f"sessions/{PM_NESTED}", ".."])
def test_nor_does_one_of_a_nested_feature(used: Place, where: str) -> None:
    with used.store() as store:
        store.maker.get_or_create("feature", "pm", NESTED)
    folder = (used.nested / where).resolve()
    with mode(folder, 0o000):
        served, problems = reconciled(used)
        assert served == [PM] and [problem.path for problem in problems] == [str(folder)]
    assert set(reconciled(used)[0]) == {PM, PM_NESTED}


def test_a_session_that_may_be_in_a_closed_folder_is_not_said_to_be_missing(used: Place) -> None:
    with mode(used.flat, 0o000), used.store(SETTLE) as store, pytest.raises(NotFound) as caught:
        store.session(PM)
    clear(caught.value, used.flat)
    assert PM in caught.value.message


def test_a_git_folder_that_may_not_be_written(place: Place) -> None:
    with mode(place.project.common_dir, 0o500):
        with pytest.raises(NotAllowed) as caught, place.store():
            pass
        clear(caught.value, place.project.lock_file)
    with place.session() as session:
        session.add(said("a"))


@pytest.mark.skipif(os.getuid() != 0, reason="only root can set the immutable attribute")
def test_an_immutable_journal(used: Place) -> None:
    with used.session(SETTLE) as session:
        if subprocess.run(["chattr", "+i", str(used.pm.journal)], capture_output=True).returncode:
            pytest.skip("this file system knows no immutable files")
        try:
            with pytest.raises(NotAllowed) as caught:
                session.add(said("lost"))
            clear(caught.value, used.pm.journal)
            named(session.problems, used.pm.journal)
        finally:
            subprocess.run(["chattr", "-i", str(used.pm.journal)], check=True)
    assert reconciled(used) == ([PM], [])
    assert reader.agree(used.pm).chat == ["a", "b"]


# --- no space -----------------------------------------------------------------------------------------------------


@contextmanager
def small_disk(path: Path, size: int) -> Iterator[None]:
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(path)]
    if os.getuid() != 0 or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("a small file system cannot be mounted here; the file-size limit is tested")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


def test_a_full_disk(tmp_path: Path) -> None:
    with small_disk(tmp_path / "small", 1 << 20):
        place = Place(tmp_path / "small" / "p").make()
        ballast = tmp_path / "small" / "ballast"
        with place.session() as session:
            acknowledged = _fill(session, ballast)
            assert {problem.id for problem in session.problems} >= {"journal"}
            _check_full(place, session, acknowledged)
        with place.store() as store:  # a restart, still full
            session = store.session(PM)
            acknowledged |= _fill(session, ballast)
            _check_full(place, session, acknowledged)
            ballast.unlink()
            session.add(said("space"))
            session.reconcile()
            assert session.problems == []
        reader.once(reader.agree(place.pm), {*acknowledged, "space"})
        assert reader.temps(place.root) == []


def _fill(session: Session, ballast: Path) -> set[str]:
    """Until an append fails; what was acknowledged before."""
    acknowledged: set[str] = set()
    while True:
        with suppress(OSError), ballast.open("ab", buffering=0) as file:
            while file.write(bytes(4096)):
                pass
        name = f"m{session.messages(1)[1]}"
        try:
            session.add([{"id": name, "role": "user", "content": "x" * 5000}])
        except LimitReached as error:
            assert "full" in error.message and "history_" in str(error.path) and error.hint
            return acknowledged
        acknowledged.add(name)


def _check_full(place: Place, session: Session, acknowledged: set[str]) -> None:
    assert {raw["id"] for raw in session.history(limit=10_000)[0]} >= acknowledged
    told = reader.read_journal(place.pm.journal)
    reader.once(told, acknowledged)
    assert told.tail == b""
    for path in place.pm.projections():
        reader.whole(path)


def test_a_file_size_limit(used: Place) -> None:
    with used.store(SETTLE) as store:
        session = store.session(PM)
        session.reconcile()
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (used.pm.journal.stat().st_size + 50, hard))
        try:
            with pytest.raises(LimitReached, match="larger than allowed") as caught:
                session.add(said("lost"))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        clear(caught.value, used.pm.journal)
        assert named(session.problems, used.pm.journal)
        session.add(said("c"))
        session.reconcile()
        assert session.problems == []
    reader.once(reader.agree(used.pm), {"a", "b", "c"})


# --- again and again ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["chat", "checkpoint", "session", "journal"])
@pytest.mark.parametrize("kind", ["link", "fifo", "folder"])
def test_trying_again_leaves_no_file_open(used: Place, secret: Path, name: str, kind: str) -> None:
    """A reconcile every few minutes, for months."""
    path: Path = getattr(used.pm, name)
    path.unlink()
    _put(path, kind, secret)
    _leaves_no_file_open(used)


def test_trying_again_on_a_full_disk_leaves_no_file_open(used: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(what: str, path: str | Path) -> None:
        if what in ("create", "write"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    used.pm.chat.write_text(json.dumps({"messages": said("a", "b", "c")}))
    monkeypatch.setattr(disk, "step", full)
    _leaves_no_file_open(used)
    monkeypatch.undo()
    assert reconciled(used) == ([PM], [])
    assert "c" in reader.agree(used.pm).chat


def _leaves_no_file_open(place: Place) -> None:
    with place.store(SETTLE) as store:
        store.reconciler.reconcile()
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(3):
            assert store.reconciler.reconcile() == [] and store.problems
        assert len(os.listdir("/proc/self/fd")) == before


# --- for one who only looks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", ["cut", "empty", "nul", "number"])
def test_a_reader_changes_nothing_and_says_what_is_wrong(used: Place, damage: str) -> None:
    path, data = _damage(used, "chat", damage)
    before = {each: each.read_bytes() for each in used.root.rglob("*") if each.is_file()}
    store = Store(used.project, Index(None), settle=SETTLE, read_only=True)
    (session,) = store.reconciler.reconcile()
    assert [raw["id"] for raw in session.chat()] == ["a", "b"]
    named(session.problems, path)
    store.close()
    assert {each: each.read_bytes() for each in used.root.rglob("*") if each.is_file()} == before
    assert path.read_bytes() == data
