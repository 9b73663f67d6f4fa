"""Searching: what is found, how it is ranked and shown, and that the index is a cache."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dagentd.errors import InvalidInput, LimitReached, NotFound
from dagentd.jobs import full_text_search
from dagentd.model import records
from dagentd.model.query import Query
from dagentd.store import search_index
from dagentd.store import session_search as searching
from dagentd.store.journal import index
from dagentd.store.journal.index import Index
from dagentd.store.journal.journal import Journal, Line
from dagentd.store.store import Store
from tests.conftest import SampleProject
from tests.patience import patience, until
from tests.store.served import Served

Find = Callable[..., list[str]]


@pytest.fixture
def find(served: Served) -> Find:
    return lambda query, **more: [hit["messageId"] for hit in hits(served, query, **more)]


def hits(served: Served, query: str, session: str | None = None, limit: int = 20) -> list[dict[str, Any]]:
    return full_text_search.by_index([served.store], query, session, limit)


def say(served: Served, **contents: Any) -> None:
    served.session.add([{"id": name, "role": "user", "content": content} for name, content in contents.items()])


def index_of(served: Served) -> Path:
    assert served.store.search_file is not None
    return served.store.search_file


# --- what is found ------------------------------------------------------------------------------------------------


def test_one_import_is_indexed_in_parts_so_that_others_find_meanwhile(
    served: Served, find: Find, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "_BATCH", 1)
    added, add = list[int](), search_index.SearchIndex.add

    def counting(self: search_index.SearchIndex, reached: search_index.Known, found: Any) -> None:
        add(self, reached, found := list(found))
        added.append(len(found))

    monkeypatch.setattr(search_index.SearchIndex, "add", counting)
    say(served, a="one otter", b="two otters", c="three otters")
    assert sorted(find("otter")) == ["a", "b", "c"]
    assert max(added) == 1 and sum(added) == 3


TEXTS = {
    "code": "Call getUserById(userId) in src/app/main.ts, not HTTPServerFactory or max_token_count.",
    "prose": "The login form needs a second look: naïve café owners can’t log in.",
    "other": "A form to log your working hours, and the LOGIN of the day.",
    "chinese": "请修复用户登录页面的错误。",
    "japanese": "ログイン画面を直してください",
    "korean": "로그인을 고쳐 주세요",
    "thai": "กรุณาแก้ไขหน้าเข้าสู่ระบบ",
    "hindi": "कृपया लॉगिन ठीक करें",
    "german": "Die Straße ist GRÖSSER als ﬁne Ｗｉｄｅ.",
    "greek": "ΟΔΟΣ και οδός",
    "arrow": "const f = (a) => a *2; // \U0001f389 C++ ->",
    "odd": "half \ud83d an emoji, and a \0 NUL OR NEAR",
}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("login form", {"prose", "other"}),
        ('"login form"', {"prose"}),
        ('"form login"', set()),
        ("LOGIN second", {"prose"}),
        ("cafe NAIVE", {"prose"}),
        ("café", {"prose"}),
        ("getUserById", {"code"}),
        ("getuserbyid", {"code"}),
        ("get_user_by_id", {"code"}),
        ("UserById", {"code"}),
        ("factory", {"code"}),
        ("http server", {"code"}),
        ('"id user"', set()),  # parts of two names are no phrase
        ("max_token_count", {"code"}),
        ("token", {"code"}),
        ("maxTokenCount", {"code"}),
        ("src/app/main.ts", {"code"}),
        ("main.ts", {"code"}),
        ("app/other.ts", set()),
        ("fact", {"code"}),
        ("登录", {"chinese"}),
        ("录登", set()),
        ("错", {"chinese"}),
        ("ログイン", {"japanese"}),
        ("画面", {"japanese"}),
        ("로그인", {"korean"}),
        ("그인", {"korean"}),
        ("หน้าเข้า", {"thai"}),
        ("लॉगिन", {"hindi"}),
        ("लागन", set()),
        ("strasse größer fine wide", {"german"}),
        ("οδοσ", {"greek"}),
        ("a", {"other", "prose", "arrow", "odd"}),
        ("id", {"code"}),
        ("=>", {"arrow"}),
        ("*", {"arrow"}),
        ("\U0001f389", {"arrow"}),
        ("->", {"arrow"}),
        ("c++", {"arrow"}),
        ("(a)", {"other", "prose", "arrow", "odd"}),
        ("\ud83d", {"odd"}),
        ("\0", {"odd"}),
        ("nul\0or", {"odd"}),
        ("NEAR", {"odd"}),
        ("form OR hours", set()),
        ("NOT login", set()),
        ('"', set()),
        ('"login', {"prose", "other"}),
        ("-login", {"prose", "other"}),
        ("text:login", set()),
        ("form^2", set()),
        ("\u0301", set()),
        ("nothing of this", set()),
    ],
)
def test_what_is_found(served: Served, find: Find, query: str, expected: set[str]) -> None:
    say(served, **TEXTS)
    assert set(find(query)) == expected


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters() | st.sampled_from('"*:()-^+{}\0\ud800 aé登'), min_size=1, max_size=40))
def test_no_query_fails_and_each_finds_itself(served: Served, query: str) -> None:
    """But one that is blank, or nothing but accents."""
    try:
        asked = Query(query)
    except InvalidInput:
        assert not query.strip()
        return
    name = query.encode("utf-32", "surrogatepass").hex()[:200]
    served.session.add([{"id": name, "role": "user", "content": f"see {query} here"}])
    found = [hit["messageId"] for hit in hits(served, query, limit=1000)]
    assert name in found or not (asked.terms or asked.literals)


def test_a_long_query_and_a_blank_one(served: Served, find: Find) -> None:
    say(served, many=" ".join(map(str, range(300))), characters="登" * 1000)
    assert find(" ".join(map(str, range(250)))) == ["many"]
    assert find("登" * 1000) == ["characters"]
    assert find("( " * 500) == []
    with pytest.raises(LimitReached):
        find("x" * 1001)
    with pytest.raises(InvalidInput):
        find(" \t\n")


def test_blocks_are_searched_by_what_they_say(served: Served, find: Find) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "src/walrus.py"}}
    image = {"type": "image", "source": {"type": "base64", "data": "walrus"}}
    written = {"type": "tool_use", "id": "t2", "name": "Write", "input": {"content": "one\ngetOstrich\n"}}
    say(served, call=[{"type": "text", "text": "Look"}, call], image=[image], number=7, written=[written])
    assert find("walrus.py look") == ["call"]
    assert (find("getOstrich"), find("ostrich")) == (["written"], ["written"])
    assert find("7") == ["number"]


# --- ranking and excerpts -----------------------------------------------------------------------------------------


def test_the_best_first_and_of_equals_the_newest(served: Served, find: Find) -> None:
    say(
        served,
        older="the lighthouse",
        long="the lighthouse among many other words of no importance",
        newer="the lighthouse",
    )
    assert find("lighthouse") == ["newer", "older", "long"]
    assert find("lighthouse", limit=2) == ["newer", "older"]


def test_the_newest_by_their_time_and_not_by_their_arrival(served: Served, find: Find) -> None:
    times = {"b": "2026-01-02T00:00:00.000Z", "c": "2026-01-03T00:00:00+02:00", "a": "2026-01-01", "x": 5, "y": "soon"}
    document = served.app.read()
    document["messages"] += [
        {"id": name, "role": "user", "content": "same words", "timestamp": at} for name, at in times.items()
    ]
    served.app.write(document)
    served.flush()
    assert find("words")[-3:] == ["c", "b", "a"]


@pytest.mark.parametrize(
    ("content", "query", "expected"),
    [
        ("Fix the\nlogin\t form", "login", "Fix the «login» form"),
        ("Fix the login, then log out", "log", "Fix the «log»in, then «log» out"),
        ("Call getUserById now", "user", "Call get«User»ById now"),
        ("l'e\u0301cole à côté", "ecole cote", "l'«e\u0301cole» à «côté»"),
        ("東京都へ行く", "京都", "東«京都»へ行く"),
        ("the ﬁnest", "fine", "the «ﬁne»st"),
        ("a => b", "=>", "a «=>» b"),
        ("x " * 100 + "needle" + " y" * 100, "needle", f"…{'x ' * 24}«needle»{' y' * 72}…"),
        ("é" * 9000 + " needle", "needle", f"…{'é' * 49} «needle»"),
    ],
)
def test_snippets(served: Served, content: str, query: str, expected: str) -> None:
    say(served, one=content)
    assert hits(served, query)[0]["snippet"] == expected


def test_a_hit_says_where_it_is(served: Served) -> None:
    [message] = served.session.add([{"id": "m", "role": "user", "content": "a walrus"}])
    expected = {"sessionId": served.session.id, "messageId": "m", "role": "user", "timestamp": message["timestamp"]}
    assert hits(served, "walrus") == [{**expected, "snippet": "a «walrus»"}]


# --- following the journals ---------------------------------------------------------------------------------------


def test_an_edit_is_found_by_what_it_says_now_and_what_left_chat_is_found(served: Served, find: Find) -> None:
    say(served, first="about walruses", second="about penguins")
    assert find("walruses") == ["first"]
    served.flush()
    document = served.app.read()
    document["messages"][0]["content"] = "about ostriches"
    served.app.write(document)
    served.flush()
    served.session.clear()
    assert (find("walruses"), find("ostriches"), find("penguins")) == ([], ["first"], ["second"])


def test_a_message_that_is_in_the_journal_twice_counts_as_it_came_first(served: Served, find: Find) -> None:
    say(served, one="about walruses")
    again = {"id": "one", "role": "user", "content": "about penguins"}
    with served.journal.open("ab") as journal:
        journal.write(records.message(again, json.dumps(again).encode(), "").line())
    assert (find("walruses"), find("penguins")) == (["one"], [])


def test_only_what_is_new_is_read(served: Served, find: Find, monkeypatch: pytest.MonkeyPatch) -> None:
    say(served, **{f"m{number}": f"text {number}" for number in range(50)})
    assert find("37") == ["m37"]
    read: list[int] = []
    original = Journal.groups

    def counting(self: Journal, start: int = 0) -> Iterator[list[Line]]:
        read.append(start)
        return original(self, start)

    monkeypatch.setattr(Journal, "groups", counting)
    assert find("38") == ["m38"]
    assert read == []
    size = served.journal.stat().st_size
    say(served, last="one more walrus")
    assert find("walrus") == ["last"]
    assert read == [size]


def test_an_index_stays_open_for_the_next_search_and_no_longer(
    served: Served, find: Find, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opening, writing and closing it took three syncs each time."""
    opened, connect = list[object](), index.connect

    def noted(*given: Any) -> Any:
        opened.append(given[0])
        return connect(*given)

    monkeypatch.setattr(search_index, "connect", noted)
    for number in range(3):
        say(served, **{f"m{number}": f"walrus {number}"})
        assert len(find("walrus")) == number + 1
    assert opened == [index_of(served)]
    searching.forget(index_of(served))
    monkeypatch.setattr(searching, "_SPARE_FOR", 0.0)
    assert len(find("walrus")) == 3
    until(lambda: not searching._spares._held, "its end")
    assert not Path(f"{index_of(served)}-wal").exists()


def test_deleting_the_index_loses_nothing(served: Served, find: Find) -> None:
    say(served, one="a walrus")
    find("walrus")
    assert index_of(served).stat().st_mode & 0o077 == 0
    index_of(served).unlink()
    assert find("walrus") == ["one"]


@pytest.mark.parametrize("damage", ["header", "middle", "cut", "other", "folder"])
def test_a_damaged_index_is_made_again(served: Served, find: Find, damage: str) -> None:
    say(served, **{f"m{number}": f"walrus {number} " + "word " * number for number in range(200)})
    expected = find("walrus", limit=1000)
    path = index_of(served)
    searching._spares.close(path)
    data = path.read_bytes()
    middle = bytes(len(data) - 8192)
    if damage == "folder":
        path.unlink()
        path.mkdir()
    else:
        whole = {"header": b"x" * len(data), "middle": data[:8192] + middle, "cut": data[:5000], "other": b"SQLite"}
        path.write_bytes(whole[damage])
    assert find("walrus", limit=1000) == expected


def test_a_journal_that_was_replaced_is_indexed_again(served: Served, find: Find) -> None:
    say(served, one="a walrus", two="a penguin")
    assert find("penguin") == ["two"]
    data = served.journal.read_bytes()
    served.close()
    other = served.journal.with_name("other")
    other.write_bytes(data.replace(b"penguin", b"ostrich"))
    os.replace(other, served.journal)
    assert find("penguin") == ["two"]  # in what was kept
    served.kept[0].unlink()
    assert (find("penguin"), find("ostrich"), find("walrus")) == ([], ["two"], ["one"])


def test_a_journal_whose_middle_was_changed_is_indexed_again(served: Served, find: Find) -> None:
    """Its last record is the same, so only reading what was found shows it."""
    say(served, one="a walrus", two="a penguin")
    assert find("walrus") == ["one"]
    data = served.journal.read_bytes()
    served.close()
    served.journal.write_bytes(data.replace(b'"id": "one"', b'"id": "eleven"').replace(b"a walrus", b"walrus"))
    assert find("walrus") == ["eleven"]


def test_sessions_that_vanished_are_not_found_and_their_words_are_dropped(
    served: Served, find: Find, project: SampleProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_index, "_SPARE", 5)
    say(served, stays="a walrus")
    other = served.store.maker.get_or_create("task", "dev", project.feature, "t1", "in_dev")
    other.add([{"id": f"m{number}", "role": "user", "content": "another walrus"} for number in range(20)])
    assert len(find("walrus", limit=100)) == 21
    assert len(find("walrus", session=other.id, limit=100)) == 20
    assert find("walrus", session=served.session.id) == ["stays"]
    files = [path for path in other.folder.path.iterdir() if other.id in path.name]
    served.close()
    for path in files:
        path.unlink()
    assert len(find("walrus", limit=100)) == 21  # it was kept
    for path in served.project.kept_dir.glob(f"{other.id}.*"):
        path.unlink()
    assert find("walrus", limit=100) == ["stays"]
    with pytest.raises(NotFound):
        find("walrus", session=other.id)
    with contextlib.closing(search_index.SearchIndex(index_of(served))) as held:
        assert [row.id for row in held.newest(range(100))] == [b"stays"]


def test_a_session_that_cannot_be_read_stops_nobody(served: Served, find: Find, project: SampleProject) -> None:
    say(served, one="a walrus")
    other = served.store.maker.get_or_create("task", "dev", project.feature, "t1", "in_dev").folder
    served.close()
    other.journal.unlink()
    other.journal.mkdir()
    assert find("walrus") == ["one"]


def test_without_a_place_for_the_index_it_is_in_memory(project: SampleProject) -> None:
    served = Served(project.worktree, project.feature, None)
    try:
        say(served, one="a walrus")
        assert [hit["messageId"] for hit in hits(served, "walrus")] == ["one"]
    finally:
        served.close()


def test_reading_finds_the_same_without_journals(served: Served, find: Find) -> None:
    say(served, **TEXTS)
    served.flush()
    queries = ("login form", "=>", "登录", "id")
    expected = [find(query) for query in queries]
    served.close()
    served.journal.unlink()
    store = Store(served.project, Index(None), read_only=True)
    try:
        found = [full_text_search.by_reading(store, query, served.session.id, 20) for query in queries]
    finally:
        store.close()
    assert [[hit["messageId"] for hit in hits] for hits, _ in found] == expected
    assert [errors for _, errors in found] == [[]] * len(queries)


def test_a_search_does_not_wait_for_another_that_indexes(
    served: Served, find: Find, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first search of all that there is may take long; one of a short session is answered meanwhile."""
    say(served, first="walrus", second="walrus")
    short = served.store.maker.get_or_create("feature", "qa", served.feature)
    short.add([{"id": "found", "role": "user", "content": "otter"}])
    batches, others = searching._batches, list[list[str]]()

    def beside(groups: Iterator[list[Line]]) -> Iterator[list[Line]]:
        for batch in batches(groups):
            yield batch
            if threading.current_thread() is threading.main_thread() and not others:
                other = threading.Thread(target=lambda: others.append(find("otter", session=short.id)), daemon=True)
                other.start()
                other.join(patience())

    monkeypatch.setattr(searching, "_BATCH", 1)
    monkeypatch.setattr(searching, "_batches", beside)
    assert sorted(find("walrus")) == ["first", "second"]
    assert others == [["found"]]


def test_two_that_index_the_same_journal_index_it_once(served: Served, find: Find) -> None:
    say(served, **{f"m{number}": f"walrus {number}" for number in range(300)})
    found: list[list[str]] = []
    both = [threading.Thread(target=lambda: found.append(find("walrus", limit=1000))) for _ in range(4)]
    for each in both:
        each.start()
    for each in both:
        each.join()
    assert [len(set(each)) for each in found] == [len(each) for each in found] == [300] * 4
