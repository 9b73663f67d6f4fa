"""Legacy documents for property tests: any that the shapes allow, and damage done to them."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import strategies as st

PLACES = {
    "L1": "chat.json",
    "L2": "nodes/t1/session.json",
    "L3": "nodes/t1/chat.json",
    "L4": "sessions/old.json",
    "L5": "sessions/chat_old.json",
}
LISTS = {"L1": "entries", "L2": "messages", "L3": "entries", "L4": "messages", "L5": "messages"}

# With lone surrogates, NUL and all else that JSON can hold.
text = st.text(st.characters(exclude_categories=()), max_size=20) | st.sampled_from(["yes", "ok", "\ud83d", "a\0b"])
numbers = st.integers() | st.floats() | st.integers(0, 2**41)
anything = st.recursive(
    st.none() | st.booleans() | numbers | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)
moments = (
    st.integers(10**9, 2 * 10**12)
    | st.datetimes().map(lambda moment: moment.isoformat())
    | st.datetimes().map(lambda moment: moment.isoformat() + "Z")
    | st.sampled_from(["2026-01-15T10:00:00.000Z", "2026-01-15T12:00:00+02:00", "yesterday", None])
)
_maybe = {
    "timestamp": moments,
    "id": text | st.integers(0, 9) | st.sampled_from(["m1", "m2"]),
    "metadata": st.dictionaries(st.sampled_from(["iteration", "toolName", "toolInput", "mood"]), anything) | anything,
    "media": st.lists(text, max_size=2),
    "extra": anything,
    "\ud83d": anything,
}
_words = st.sampled_from(["user", "assistant", "system", "tool", "progress", "", None])
_ways = st.sampled_from(["outgoing", "incoming", "task_to_harness", "harness_to_task", "sideways"])
_chat = st.fixed_dictionaries({"type": _words, "text": text}, optional=_maybe)
_app = st.fixed_dictionaries({"role": _words, "content": text | st.lists(anything, max_size=2)}, optional=_maybe)
_told = st.fixed_dictionaries({"direction": _ways, "content": text}, optional={**_maybe, "type": _words})
entries = st.lists(_chat | _app | _told, max_size=12)
no_message: st.SearchStrategy[Any] = st.none() | numbers | text | st.lists(anything, max_size=2) | st.just({})


def document(shape: str, held: list[Any]) -> dict[str, Any]:
    kind = {"type": "dev-task", "taskId": "t1"} if shape == "L4" else {}
    whole = {"createdAt": "2026-01-15T09:00:00.000Z", LISTS[shape]: held, **kind}
    return {"chat": whole} if shape == "L5" else whole


@st.composite
def damaged(draw: st.DrawFn, shape: str) -> dict[str, Any]:
    """A document with some values replaced by others or taken away, wherever they are."""
    whole = copy.deepcopy(document(shape, draw(entries)))
    for _ in range(draw(st.integers(1, 4))):
        holder: Any = whole
        while True:
            keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
            if not keys:
                break
            key = draw(st.sampled_from(keys))
            if isinstance(holder[key], (dict, list)) and draw(st.integers(0, 9)):
                holder = holder[key]
                continue
            if draw(st.booleans()):
                del holder[key]
            else:
                holder[key] = draw(anything)
            break
    return whole
