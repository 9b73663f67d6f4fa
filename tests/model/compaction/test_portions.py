"""Portions that fit into one call: every message once and in order, by what is really sent; the longest cut in its
middle."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dagentd.adapters import tokens
from dagentd.jobs.compaction.asking import first_portion, fitting
from dagentd.model.compaction.turns import Turn, turn


def turns(*sizes: int) -> list[Turn]:
    return [turn({"id": f"id-{n}", "role": "user", "content": "word " * size}) for n, size in enumerate(sizes)]


def words(text: str) -> int:
    return len(text.split())


@given(st.lists(st.integers(0, 400), min_size=1, max_size=12), st.integers(100, 300))
def test_every_message_is_in_one_portion_and_what_is_sent_fits(sizes: list[int], room: int) -> None:
    rest = turns(*sizes)
    aliases = {one.id: f"m{number}" for number, one in enumerate(rest)}
    seen: list[str] = []
    while rest:
        portion = first_portion(rest, aliases, room, words)
        assert portion.turns and words(portion.sent) <= room
        assert list(portion.turns.values()) == rest[: len(portion.turns)]
        seen += portion.turns
        rest = rest[len(portion.turns) :]
    assert seen == list(aliases.values())


def test_what_is_too_long_by_itself_keeps_its_beginning_and_its_end() -> None:
    short = fitting("BEGIN " + "lorem ipsum " * 100_000 + " END", 200, tokens.count)
    assert short.startswith("BEGIN ") and short.endswith(" END") and "[dagentd left out" in short
    assert tokens.count(short) <= 200


def test_text_of_one_sign_and_half_emoji_is_cut_too() -> None:
    for sign in ("a", " ", "\ud800", "漢", "\n"):
        assert tokens.count(fitting(sign * 50_000, 100, tokens.count)) <= 100
