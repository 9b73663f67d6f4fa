"""Whether an answer may be used: what was said passes in any wording, what was not said does not."""

from __future__ import annotations

from typing import Any

import pytest

from dagentd.model.compaction.acceptance import faults
from dagentd.model.compaction.items import Item
from dagentd.model.compaction.operations import Add, ListName, Move, Operation, Resolve, Supersede
from dagentd.model.compaction.turns import Turn, turn

TALK = {
    "m1": "Let's use PostgreSQL 16 and node for the service; three retries, at most 10,000 rows, timeout 1.5 s.",
    "m2": "The entry point is src/app/main.py (see line 120) and `npm run build -- --watch` builds it.",
    "m3": "Please create, update and delete users by the endpoint https://api.x.test:8443/v2/users, release v1.2.3.",
    "m4": "In the first step rename getUser to fetch_user_by_id, and set MAX_CONNECTIONS to 42.",
}


_THEIRS: tuple[ListName, ...] = ("decisions", "pending")


def turns(**more: Any) -> dict[str, Turn]:
    messages = {name: {"id": name, "role": "user", "content": text} for name, text in TALK.items()}
    return {name: turn(raw) for name, raw in {**messages, **more}.items()}


def wrong(*operations: Operation, items: tuple[Item, ...] = (), more: Any = None) -> str:
    return "\n".join(faults(operations, items, turns(**(more or {}))))


def added(text: str, *sources: str, to: ListName = "decisions") -> Add:
    return Add(list=to, text=text, sources=sources or tuple(TALK))


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
    assert f"not in its sources: {told}" in wrong(added(text)).replace("/" + told, told)


def test_the_fact_must_be_in_the_messages_that_are_cited() -> None:
    assert wrong(added("PostgreSQL 16", "m1")) == ""
    assert "not in its sources: PostgreSQL, 16" in wrong(added("PostgreSQL 16", "m2"))


def test_a_number_is_not_found_within_another() -> None:
    later = {"m9": {"id": "m9", "role": "user", "content": "It took 11.5 s, in 2016, for 3.75 MB."}}
    for invented in ("1.5", "16", "75", "201", "3.7"):
        assert f"not in its sources: {invented}" in wrong(added(f"It took {invented} s", "m9"), more=later)


def test_superseding_may_repeat_what_the_item_said() -> None:
    item = Item("a", "decisions", "Port 9999 for the proxy")
    assert wrong(Supersede(item="a", text="Port 9999 for the service", sources=("m1",)), items=(item,)) == ""


def test_only_who_takes_part_decides_and_only_success_completes() -> None:
    result = {"type": "tool_result", "tool_use_id": "t", "content": "Error: 42 tests failed", "is_error": True}
    said = {"m9": {"id": "m9", "role": "user", "content": [result]}}
    assert "not from what a tool returned" in wrong(added("All tests are deleted", "m9"), more=said)
    assert "only failures" in wrong(added("42 tests passed", "m9", to="completed"), more=said)
    assert wrong(added("42 tests failed", "m9", to="blockers"), more=said) == ""
    done = Item("a", "pending", "Run the tests")
    assert "only failures" in wrong(Move(item="a", to="completed", sources=("m9",)), items=(done,), more=said)


@pytest.mark.parametrize("operation", [
    Move(item="a", to="completed", sources=("m1",)), Resolve(item="a", sources=("m1",)),
    Move(item="b", to="decisions", sources=("m1",)), Resolve(item="p", sources=("m1",)),
    Supersede(item="p", text="PostgreSQL 16", sources=("m1",)), Resolve(item="b", sources=()),
    Resolve(item="b", sources=("m77",)), Resolve(item="none", sources=("m1",)), added(" "), added("x" * 601),
])  # fmt: skip
def test_what_may_not_be_done(operation: Operation) -> None:
    items = (Item("a", "decisions", "x"), Item("b", "pending", "y"), Item("p", "blockers", "z", pinned=True))
    assert len(faults([operation], items, turns())) == 1


def test_an_answer_without_end_is_refused_at_once() -> None:
    """Judging it must not take longer than reading it."""
    assert wrong(*[added("PostgreSQL 16")] * 100_000) == "there are more than 1000 operations"
    assert "longer than 600" in wrong(added("a" * 1_000_000))
    assert len(faults([added("nothing_like_it")] * 900, (), turns())) == 12


def test_facts_of_a_decision_are_not_a_tools() -> None:
    """Citing the user beside the tool makes what the tool printed no word of the user's."""
    result = {"type": "tool_result", "tool_use_id": "t", "content": "Note: use MongoDB 7 on port 9999, see src/x.py"}
    use = {"type": "tool_use", "id": "t", "name": "Read", "input": {"file_path": "docs/notes.md"}}
    more = {"m9": {"id": "m9", "role": "assistant", "content": [use, result]}}
    for text, told in (("Use MongoDB", "MongoDB"), ("Port 9999", "9999"), ("Keep src/x.py", "src/x.py")):
        for name in _THEIRS:
            assert told in wrong(added(text, "m1", "m9", to=name), more=more)
        assert wrong(added(text, "m1", "m9", to="completed"), more=more) == ""
    assert wrong(added("docs/notes.md was to be read", "m1", "m9", to="pending"), more=more) == ""
