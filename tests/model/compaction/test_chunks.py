"""Portions that fit into one call: every message once and in order, the longest cut in its middle."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dagentd.adapters import tokens
from dagentd.model.compaction.chunks import chunks, middle_cut
from dagentd.model.compaction.turns import Turn, turn


def turns(*sizes: int) -> list[Turn]:
    return [turn({"id": f"m{n}", "role": "user", "content": "word " * size}) for n, size in enumerate(sizes)]


def words(text: str) -> int:
    return len(text.split())


@given(st.lists(st.integers(0, 400), max_size=12), st.integers(100, 300))
def test_every_message_is_in_one_portion_and_each_portion_fits(sizes: list[int], room: int) -> None:
    said = turns(*sizes)
    found = list(chunks(said, room, words))
    assert [one.id for some in found for one in some] == [one.id for one in said]
    for some in found:
        assert sum(words(one.text) for one in some) <= room
    whole = [one for some in found for one in some if "[dagentd left out" not in one.text]
    assert all(one in said for one in whole)


def test_what_is_too_long_by_itself_keeps_its_beginning_and_its_end() -> None:
    short = middle_cut("BEGIN " + "lorem ipsum " * 100_000 + " END", 200, tokens.count)
    assert short.startswith("BEGIN ") and short.endswith(" END") and "[dagentd left out" in short
    assert tokens.count(short) <= 200
    assert middle_cut("word " * 100, 0, tokens.count) == ""


def test_text_of_one_sign_and_half_emoji_is_cut_too() -> None:
    for sign in ("a", " ", "\ud800", "漢", "\n"):
        assert tokens.count(middle_cut(sign * 50_000, 100, tokens.count)) <= 100
