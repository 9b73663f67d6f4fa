"""What holds for `local` whatever the messages are."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagentd.model.compaction.items import LISTS, Item, new
from dagentd.model.compaction.local import operations, prose
from dagentd.model.compaction.operations import Add, Move, Operation, Resolve, Supersede, perform
from dagentd.model.compaction.turns import Turn, turn
from tests.model.compaction.conversations import conversation

_SAID = """Use Redis for the cache.|Actually, use Memcached instead of Redis for the cache.|The timeout is 30 s
The timeout is 45 s now|Never log tokens.|Please add a /health endpoint.|I've added the /health endpoint.|Done.|ok
Never mind the /health endpoint.|Scrap that.|Don't forget the docs.|Error: boom|Make it 5.|We no longer use Redis.
必须使用 Redis。|Should we use Kafka?|Yes."""
_PHRASES = st.sampled_from(_SAID.replace("\n", "|").split("|"))
_TEXT = st.one_of(_PHRASES, st.lists(_PHRASES, max_size=4).map("\n".join), st.text(st.characters(), max_size=60))
_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | _TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(_TEXT, inner),
    max_leaves=6,
)
_INPUT = st.fixed_dictionaries(
    {}, optional={"file_path": st.sampled_from(["a.py", "src/b.ts", "x, y.md", " ", "c\nd"]), "command": _TEXT | _JSON}
)
_BLOCK = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "text": _TEXT}),
    st.fixed_dictionaries(
        {
            "type": st.just("tool_use"),
            "id": st.sampled_from("ab"),
            "name": st.sampled_from(["Edit", "Bash", ""]),
            "input": _INPUT,
        }
    ),
    st.fixed_dictionaries({"type": st.just("tool_result"), "tool_use_id": st.sampled_from("ab"), "content": _TEXT}),
)
_METADATA = st.fixed_dictionaries(
    {},
    optional={
        "toolUse": st.fixed_dictionaries({"name": st.sampled_from(["Edit", "Bash"]), "input": _INPUT, "result": _JSON})
        | _JSON,
        "verificationResults": st.dictionaries(st.sampled_from(["build", "test`"]), st.booleans()) | _JSON,
        "internal": st.booleans(),
        "iteration": st.integers(),
    },
)
_MESSAGES = st.lists(
    st.fixed_dictionaries(
        {
            "role": st.sampled_from(["user", "assistant", "system", "tool"]),
            "content": _TEXT | st.lists(_BLOCK, max_size=3) | _JSON,
            "metadata": _METADATA,
        }
    ),
    max_size=8,
)


def _turns(messages: Sequence[dict[str, Any]], first: int = 0) -> list[Turn]:
    return [turn({"id": f"m{at}", **raw}) for at, raw in enumerate(messages, first)]


@st.composite
def _states(draw: st.DrawFn) -> tuple[list[Item], list[Turn]]:
    """Items that earlier messages left, some of them pinned, some written by hand, and new messages."""
    before = _turns(draw(_MESSAGES))
    items = perform([], operations([], before), "")[0]
    items += [
        new(draw(st.sampled_from(LISTS)), text, (), "") for text in draw(st.lists(_TEXT, max_size=2)) if text.strip()
    ]
    held = {item.id: replace(item, pinned=draw(st.booleans())) for item in items}
    return list(held.values()), _turns(draw(_MESSAGES), len(before))


def _named(operation: Operation) -> str:
    return "" if isinstance(operation, Add) else operation.item


@settings(deadline=None)
@given(_states())
def test_every_operation_has_a_source_and_an_item_and_respects_decisions_and_pins(
    state: tuple[list[Item], list[Turn]],
) -> None:
    items, turns = state
    held, ids = list(items), {turn.id for turn in turns}
    for operation in operations(items, turns):
        assert operation.sources
        assert set(operation.sources) <= ids
        before = next((item for item in held if item.id == _named(operation)), None)
        if not isinstance(operation, Add):
            assert before is not None
            assert not before.pinned
        if before is not None and before.list == "decisions":
            assert isinstance(operation, Supersede)
        held, changes = perform(held, [operation], "")
        assert len(changes) == 1, "an operation that comes to nothing"
    # Who says a pinned item once more adds a source to it, and changes nothing else.
    assert {replace(item, sources=()) for item in items if item.pinned} <= {replace(item, sources=()) for item in held}


@settings(deadline=None)
@given(_states())
def test_equal_input_gives_equal_output_and_no_messages_give_none(state: tuple[list[Item], list[Turn]]) -> None:
    items, turns = state
    assert operations(items, turns) == operations(list(items), list(turns))
    assert operations(items, []) == []


def test_output_is_the_same_in_another_process_with_another_hash_seed() -> None:
    script = """if True:
        from dagentd.model.compaction.local import operations
        from dagentd.model.compaction.turns import turn
        from tests.model.compaction.conversations import conversation
        told = [turn(raw) for raw in conversation(1, 1, 400).messages]
        print([each.model_dump_json() for each in operations([], told)])"""
    runs = {
        subprocess.run(
            [sys.executable, "-c", script], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(runs) == 1
    assert len(runs.pop()) > 1000


@pytest.mark.parametrize("content", ["\ud800 must never", "must\0never", {"a": [{}] * 9}, 7, None, True, [[["x"]]]])
def test_odd_content_is_survived(content: Any) -> None:
    operations([], _turns([{"role": role, "content": content} for role in ("user", "assistant", "tool")]))


def test_deep_nesting_is_survived() -> None:
    deep: Any = "must never"
    for _ in range(100_000):
        deep = [deep]
    operations([], _turns([{"role": "user", "content": deep, "metadata": {"toolUse": deep}}]))


@pytest.mark.parametrize(
    "piece",
    [
        *"a`(要",
        "a. ",
        "- ",
        "<x",
        "> ",
        "```\n",
        "must ",
        "no longer ",
        "x/",
        "Error: ",
        "1 ",
        "alpha beta ",
        "run it, not y and ",
    ],
)
def test_of_a_message_of_two_megabytes_only_the_ends_are_read(piece: str) -> None:
    words = piece * (2_000_000 // len(piece))
    assert len(prose.ends_of(words)) < 100_000
    text = f"Use port 8080 here.\n\n{words}\n\nNever commit to main."
    found = operations([], _turns([{"role": "user", "content": text}, {"role": "assistant", "content": words}]))
    assert sum(len(operation.model_dump_json()) for operation in found) < 100_000


def test_earlier_items_all_stay_or_are_accounted_for() -> None:
    told = _turns(conversation(3, 2, 300).messages)
    items = perform([], operations([], told[:150]), "")[0]
    after, changes = perform(items, operations(items, told[150:]), "")
    changed = {change.before.id for change in changes if change.before is not None}
    assert {item.id for item in items} - changed <= {item.id for item in after}
    assert all(isinstance(operation, Add | Move | Resolve | Supersede) for operation in operations(items, told[150:]))
