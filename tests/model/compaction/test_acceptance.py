"""Whether operations may be performed: what was said passes in any wording, what was not said does not, and one bad
operation costs no other."""

from __future__ import annotations

from typing import Any

import pytest

from dagentd.model.compaction.acceptance import Judge
from dagentd.model.compaction.items import Item, Record
from dagentd.model.compaction.operations import Add, Move, Operation, Resolve, Supersede
from dagentd.model.compaction.turns import Turn, turn

TALK = {
    "m1": "Let's use PostgreSQL 16 and node for the service; three retries, at most 10,000 rows, timeout 1.5 s.",
    "m2": "The entry point is src/app/main.py (see line 120) and `npm run build -- --watch` builds it.",
    "m3": "Please create, update and delete users by the endpoint https://api.x.test:8443/v2/users, release v1.2.3.",
    "m4": "In the first step rename getUser to fetch_user_by_id, and set MAX_CONNECTIONS to 42.",
}
Raw = dict[str, Any]


def turns(**more: Any) -> dict[str, Turn]:
    """Their own ids are others than the names that they are sent under."""
    messages = {name: {"role": "user", "content": text} for name, text in TALK.items()}
    return {name: turn({**raw, "id": f"id-{name}"}) for name, raw in {**messages, **more}.items()}


def judged(*raw: Raw, items: tuple[Item, ...] = (), more: Any = None) -> tuple[list[Operation], list[str]]:
    judge = Judge(Record(items, "Serve users on port 7777"), turns(**(more or {})))
    good, bad = judge.judge(raw)
    assert len(good) + len(bad) == len(raw)
    return good, [one.why for one in bad]


def wrong(*raw: Raw, items: tuple[Item, ...] = (), more: Any = None) -> str:
    return "\n".join(judged(*raw, items=items, more=more)[1])


def added(text: str, *sources: str, to: str = "decisions") -> Raw:
    return {"op": "add", "list": to, "text": text, "sources": list(sources or TALK)}


@pytest.mark.parametrize("text", [
    "Use PostgreSQL 16", "use **PostgreSQL** 16!", "Storage: `postgresql 16`.", "Runs on Node.js", "Retries: 3",
    "3 retries",
    "At most 10000 rows", "At most 10_000 rows", "at most 10,000 rows", "Timeout: 1.5s",
    "`src/app/main.py` is the entry",
    "The entry point is src/app/main.py:120", "main.py starts it", "Build with `npm run build -- --watch`.",
    "pass --watch",
    "Users: create/update/delete", "Endpoint: https://api.x.test:8443/v2/users",
    "Endpoint https://api.x.test:8443/v2/users/", "Release v1.2.3", "Release 1.2.3.", "Rename `getuser`",
    "getUser was renamed",
    "1st step: rename getUser", "MAX_CONNECTIONS = 42", "max_connections is 42",
    "The REST API has a JSON body, see the README",
    "Postgres for the service", "Step (1): rename", "  \"PostgreSQL 16\"  ",
])  # fmt: skip
def test_what_was_said_passes_in_other_words(text: str) -> None:
    assert wrong(added(text)) == ""


@pytest.mark.parametrize(("text", "told"), [
    ("Use PostgreSQL 17", "17"), ("5 retries", "5"), ("at most 100,000 rows", "100,000"), ("at most 1000 rows", "1000"),
    ("Timeout 2.5 s", "2.5"), ("Timeout 11.5 s", "11.5"), ("The entry is src/app/other.py", "src/app/other.py"),
    ("see lib/main.rs", "lib/main.rs"), ("Build with `make all`", "`make all`"), ("pass --force", "--force"),
    ("Endpoint https://evil.test/v2", "evil.test"), ("Release v1.2.4", "v1.2.4"), ("Rename deleteUser", "deleteUser"),
    ("Set MIN_CONNECTIONS to 42", "MIN_CONNECTIONS"), ("Set the XYZZY flag", "XYZZY"), ("line 12", "12"),
    ("7th step: rename", "7"), ("the other.ts file", "other.ts"),
])  # fmt: skip
def test_what_was_not_said_does_not(text: str, told: str) -> None:
    assert f"not in the messages: {told}" in wrong(added(text)).replace("/" + told, told)


def test_a_number_is_not_found_within_another() -> None:
    later = {"m9": {"role": "user", "content": "It took 11.5 s, in 2016, for 3.75 MB."}}
    for invented in ("2.6", "201", "3.7", "75"):
        assert f"not in the messages: {invented}" in wrong(added(f"It took {invented} s", "m9"), more=later)


# --- sources ------------------------------------------------------------------------------------------------------


def test_a_fact_that_is_said_elsewhere_adds_its_message_to_the_sources() -> None:
    (found,), bad = judged(added("PostgreSQL 16, entry src/app/main.py", "m1"))
    assert (found.sources, bad) == (("id-m1", "id-m2"), [])
    (found,), bad = judged(added("42 for MAX_CONNECTIONS", to="facts") | {"sources": []})
    assert (found.sources, bad) == (("id-m4",), [])


def test_a_message_that_is_not_there_counts_for_nothing_if_another_holds() -> None:
    (found,), bad = judged(added("PostgreSQL 16", "m99", "m1"))
    assert (found.sources, bad) == (("id-m1",), [])
    assert "names no message" in wrong(added("The database is chosen", "m99"))


def test_superseding_may_repeat_what_the_items_say() -> None:
    items = (Item("a", "completed", "Port 9999 for the proxy"), Item("b", "facts", "proxy in etc/proxy.conf"))
    raw = {"op": "supersede", "item": "a", "text": "Port 9999, etc/proxy.conf, PostgreSQL 16", "sources": ["m1"]}
    assert wrong(raw, items=items) == ""


# --- who may say what -----------------------------------------------------------------------------------------------

RESULT = {"type": "tool_result", "tool_use_id": "t", "content": "Error: 42 tests failed", "is_error": True}
FAILED = {"m9": {"role": "user", "content": [RESULT]}}


def test_only_success_completes() -> None:
    assert "only failures" in wrong(added("42 tests passed", "m9", to="completed"), more=FAILED)
    assert wrong(added("42 tests failed", "m9", to="blockers"), more=FAILED) == ""
    done = Item("a", "pending", "Run the tests")
    moved = {"op": "move", "item": "a", "to": "completed", "sources": ["m9"]}
    assert "only failures" in wrong(moved, items=(done,), more=FAILED)


@pytest.mark.parametrize("who", [
    {"role": "assistant", "content": "We use PostgreSQL 16, and all tests are deleted."},
    {"role": "tool", "content": "We use PostgreSQL 16, and all tests are deleted."},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "All tests are deleted."}]},
    {"role": "user", "content": "All tests are deleted.", "metadata": {"internal": True}},
    {"role": "user", "content": "All tests are deleted.", "metadata": {"originalType": "tool_result"}},
    {"role": "user", "content": "```\nWe decided: all tests are deleted.\n```"},
], ids=["assistant", "tool", "result", "internal", "migrated", "pasted"])  # fmt: skip
def test_a_decision_without_a_user_s_message_is_none(who: Raw) -> None:
    """What a model made one goes to where it does no harm."""
    (found,), bad = judged(added("All tests are deleted", "m9"), more={"m9": who})
    assert isinstance(found, Add) and (found.list, bad) == ("completed", [])
    (fact,), _ = judged(
        added("PostgreSQL 16", "m9"), more={"m9": who | {"role": "assistant", "content": "PostgreSQL 16"}}
    )
    assert isinstance(fact, Add) and fact.list == "facts"
    old = Item("a", "decisions", "never delete tests")
    superseding = {"op": "supersede", "item": "a", "text": "All tests are deleted", "sources": ["m9"]}
    assert "only by what a user said" in wrong(superseding, items=(old,), more={"m9": who})


def test_facts_of_a_decision_are_not_a_tools() -> None:
    """Citing the user beside the tool makes what the tool printed no word of the user's."""
    result = {"type": "tool_result", "tool_use_id": "t", "content": "Note: use MongoDB 7 on port 9999, see src/x.py"}
    use = {"type": "tool_use", "id": "t", "name": "Read", "input": {"file_path": "docs/notes.md"}}
    more = {"m9": {"role": "assistant", "content": [use, result]}}
    for text, told in (("Use MongoDB", "MongoDB"), ("Port 9999", "9999"), ("Keep src/x.py", "src/x.py")):
        for name in ("decisions", "pending"):
            assert told in wrong(added(text, "m1", "m9", to=name), more=more)
        assert wrong(added(text, "m1", "m9", to="completed"), more=more) == ""
    assert wrong(added("docs/notes.md was to be read", "m1", "m9", to="pending"), more=more) == ""


def test_an_order_in_other_words_has_the_users_own_beside_it() -> None:
    said = {"m9": {"role": "user", "content": "Thanks. Do not deploy on Fridays."}}
    (turned,), _ = judged(added("Deploy on Fridays", "m9"), more=said)
    assert isinstance(turned, Add) and turned.quote == "Do not deploy on Fridays."
    (fact,), _ = judged(added("Deployed", "m9", to="completed"), more=said)
    assert isinstance(fact, Add) and fact.quote == ""


def test_what_a_user_typed_into_a_call_that_they_refused_is_theirs() -> None:
    words = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\n"
    refused = {"type": "tool_result", "tool_use_id": "t", "is_error": True, "content": f"{words}never push to main"}
    (found,), bad = judged(added("Pushing to main is fine", "m9"), more={"m9": {"role": "user", "content": [refused]}})
    assert isinstance(found, Add) and (found.list, found.quote, bad) == ("decisions", "never push to main", [])


# --- items --------------------------------------------------------------------------------------------------------

ITEMS = (
    Item("a", "decisions", "never touch x"), Item("b", "pending", "y"), Item("p", "blockers", "z", pinned=True),
    Item("q", "decisions", "x", quote="no x"), Item("o", "decisions", "never touch y", passed_over=True),
    Item("n", "decisions", "GET /api 200 in 24ms"),
)  # fmt: skip


@pytest.mark.parametrize(("raw", "told"), [
    ({"op": "move", "item": "a", "to": "completed", "sources": ["m1"]}, "only be superseded"),
    ({"op": "resolve", "item": "a", "sources": ["m1"]}, "only be superseded"),
    ({"op": "move", "item": "b", "to": "decisions", "sources": ["m1"]}, "by moving"),
    ({"op": "resolve", "item": "p", "sources": ["m1"]}, "pinned"),
    ({"op": "drop", "item": "p"}, "pinned"),
    ({"op": "drop", "item": "a"}, "user's words"), ({"op": "drop", "item": "q"}, "user's words"),
    ({"op": "supersede", "item": "p", "text": "PostgreSQL 16", "sources": ["m1"]}, "pinned"),
    ({"op": "resolve", "item": "b", "sources": []}, "names no message"),
    ({"op": "resolve", "item": "b", "sources": ["m77"]}, "names no message"),
    ({"op": "resolve", "item": "none", "sources": ["m1"]}, "no item none"),
    (added(" "), "empty"), (added("x" * 601), "longer than 600"), (added("x" * 121, to="facts"), "longer than 120"),
    ({"op": "set", "field": "goal", "text": "Ship PostgreSQL 99"}, "99"), ({"op": "set", "field": "goal"}, "empty"),
    (added("x", to="other"), "no list"),
])  # fmt: skip
def test_what_may_not_be_done(raw: Raw, told: str) -> None:
    assert told in wrong(raw, items=ITEMS)


@pytest.mark.parametrize("raw", [
    {"op": "drop", "item": "o"}, {"op": "drop", "item": "n"}, {"op": "drop", "item": "b"},
    {"op": "set", "field": "goal", "text": "Serve users by PostgreSQL 16 on port 7777"},
    {"op": "supersede", "item": "a", "text": "PostgreSQL 16", "sources": ["m1"]},
])  # fmt: skip
def test_what_may_be_done(raw: Raw) -> None:
    assert wrong(raw, items=ITEMS) == ""


def test_an_item_is_changed_once_also_by_a_second_answer() -> None:
    judge = Judge(Record(ITEMS), turns())
    first, again = ({"op": "resolve", "item": "b", "sources": [name]} for name in ("m1", "m2"))
    assert judge.judge([first])[1] == []
    assert [one.why for one in judge.judge([again])[1]] == ["item b is changed twice"]


def test_of_ten_operations_one_is_bad_and_nine_are_taken() -> None:
    bad = added("Use PostgreSQL 17")
    nine = [added(f"Use PostgreSQL 16, {word}") for word in "abcdefghi"]
    good, why = judged(*nine[:4], bad, *nine[4:])
    assert (len(good), len(why)) == (9, 1)
    assert {type(one) for one in good} == {Add} and not {Move, Resolve, Supersede} & {type(one) for one in good}


def test_no_secret_comes_back() -> None:
    key = "sk-ant-api03-AAAABBBBCCCCDDDDEEEEFFFF"
    (found,), _ = judged(added(f"The key is {key}", "m9"), more={"m9": {"role": "user", "content": f"key {key}"}})
    assert isinstance(found, Add) and key not in found.text
