"""Which messages leave: never what is pinned, recent or unfinished, and never half of a tool call."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dagentd.model.compaction.turns import Turn, leaving, turn


def call(*ids: str, words: str = "") -> dict[str, Any]:
    said = [{"type": "text", "text": words}] if words else []
    return {"role": "assistant", "content": [*said, *({"type": "tool_use", "id": one, "name": "Bash"} for one in ids)]}


def result(*ids: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": one, "content": "ok"} for one in ids]}


def said(words: str = "words") -> dict[str, Any]:
    return {"role": "user", "content": words}


def talk(*messages: dict[str, Any]) -> list[Turn]:
    return [turn({**each, "id": f"m{number}"}) for number, each in enumerate(messages)]


def gone(turns: list[Turn], *pinned: str, keep: int = 0, size: int = 10) -> str:
    return " ".join(one.id for one in leaving(turns, [size] * len(turns), pinned, keep))


def test_all_leave_but_what_is_recent() -> None:
    turns = talk(said(), said(), said(), said())
    assert gone(turns) == "m0 m1 m2 m3"
    assert gone(turns, keep=25) == "m0 m1"
    assert gone(turns, keep=9) == "m0 m1 m2 m3"
    assert gone(turns, keep=10**9) == ""


def test_a_call_whose_result_is_still_to_come_stays() -> None:
    assert gone(talk(said(), call("a", words="I run it."))) == "m0"
    assert gone(talk(said(), call("a"), call("b"))) == "m0"
    assert gone(talk(said(), call("a", "b"), result("a"))) == "m0"


def test_a_call_that_something_was_said_after_will_never_get_its_result() -> None:
    assert gone(talk(said(), call("a"), said("Never mind."))) == "m0 m1 m2"


def test_a_call_stays_with_a_result_that_is_recent() -> None:
    assert gone(talk(said(), call("a"), result("a"), said()), keep=20) == "m0"


def test_all_that_hangs_together_stays_with_what_is_pinned() -> None:
    turns = talk(said(), call("a", "b"), result("a"), result("b"), said())
    assert gone(turns, "m2") == "m0 m4"


def test_calls_that_are_numbered_anew_in_each_message_hang_together_only_in_pairs() -> None:
    """Some models name every first call `call_0`: that must not keep a whole session in chat."""
    turns = talk(*(make("call_0") for _ in range(10) for make in (call, result)), call("call_0"))
    assert gone(turns) == " ".join(f"m{number}" for number in range(20))
    assert gone(turns, "m3").split()[:3] == ["m0", "m1", "m4"]


_MESSAGES = st.one_of(
    st.builds(said),
    st.builds(lambda ids, words: call(*ids, words=words), st.lists(st.sampled_from("abcd"), max_size=3, unique=True),
              st.sampled_from(["", "words"])),
    st.builds(lambda ids: result(*ids), st.lists(st.sampled_from("abcd"), min_size=1, max_size=3, unique=True)),
)  # fmt: skip


@given(st.lists(_MESSAGES, max_size=12), st.sets(st.integers(0, 11), max_size=3), st.integers(0, 60))
def test_no_call_is_separated_from_its_result_and_nothing_pinned_leaves(
    messages: list[dict[str, Any]], pins: set[int], keep: int
) -> None:
    turns, pinned = talk(*messages), {f"m{number}" for number in pins}
    away = {one.id for one in leaving(turns, [10] * len(turns), pinned, keep)}
    assert not away & pinned
    assert not away & {one.id for one in turns[len(turns) - keep // 10 :] if keep >= 10}
    calls: dict[str, str] = {}
    for one in turns:
        for tool in one.tools:
            if tool.failed is None:
                calls[tool.id] = one.id
            elif tool.id in calls:
                assert (calls.pop(tool.id) in away) == (one.id in away)


def test_a_chain_without_end_is_no_trouble() -> None:
    links = [[*result(f"t{n}")["content"], *call(f"t{n + 1}")["content"]] for n in range(5000)]
    assert gone(talk(call("t0"), *({"role": "user", "content": each} for each in links)), "m7") == ""
