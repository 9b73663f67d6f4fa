"""Checkpoints and items of any shape, for tests of what holds for all of them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from dagentd.model.compaction.items import LISTS, Item

_SIGNS = "ab <&:\n\u00e9\u6f22\U0001f600\ud800"  # a lone surrogate is in real chats: half an emoji
_KEYS = st.sampled_from(["id", "text", "list", "sources", "type", "name", "input", "content", "status", "error", "x"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(_SIGNS, max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS, inner, max_size=4),
    max_leaves=12,
)
_WORDS = st.sampled_from(["use Rust", "fix login", "run tests", "a  b", "two\nlines", "No longer open: x", "<session-"])
_TEXTS = _WORDS | st.text(_SIGNS, min_size=1, max_size=20)


@st.composite
def items(draw: st.DrawFn) -> list[Item]:
    """As a checkpoint holds them: texts on one line, ids and places each once."""
    found: dict[tuple[str, str], Item] = {}
    for number in range(draw(st.integers(0, 8))):
        flat = " ".join(draw(_TEXTS).split())
        sources = tuple(draw(st.lists(st.sampled_from("abcdefgh"), max_size=5, unique=True)))
        name, at, quote = (draw(st.sampled_from(values)) for values in (LISTS, ("", "then"), ("", "no Rust")))
        item = Item(f"i{number}", name, flat, sources, draw(st.booleans()), at, quote)
        if flat:
            found.setdefault((item.list, str(item.entry)), item)
    return list(found.values())


def summary(**lists: list[Any]) -> dict[str, Any]:
    return {"summary": {**{name: [] for name in LISTS}, **lists}}
