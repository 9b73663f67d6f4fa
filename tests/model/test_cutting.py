"""Cutting texts: at a line, within the limit, saying how much is missing."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from dagentd.model.cutting import LONGEST_TOKEN, cut


def words(text: str) -> int:
    """A tokenizer that everybody understands."""
    return len(text.split())


def test_what_fits_stays() -> None:
    text = "one two\nthree\n"
    assert cut(text, 3, words).text == text
    assert cut(text, 3, words).left_out == ""


def test_too_much_is_cut_at_a_line_and_says_so() -> None:
    text = "".join(f"line {number} of it\n" for number in range(1000))
    found = cut(text, 100, words)
    *kept, note = found.text.splitlines()
    assert kept == text.splitlines()[: len(kept)]
    assert 20 <= len(kept) <= 24
    assert note == f"[dagentd left out {found.left_out}]"
    assert found.left_out.startswith(f"{1000 - len(kept)} of 1000 lines (")
    assert words(found.text) <= 100


def test_a_first_line_that_is_too_long_is_cut_inside() -> None:
    found = cut("word " * 1000, 100, words)
    assert found.text.startswith("word word")
    assert 50 < words(found.text) <= 100
    assert "1 of 1 lines" in found.left_out


def test_without_room_nothing_is_left() -> None:
    found = cut("some text\n", 0, words)
    assert found.text == ""
    assert found.left_out == "1 of 1 lines (10 of 10 characters)"


def test_only_what_may_be_kept_is_counted() -> None:
    counted: list[int] = []

    def count(text: str) -> int:
        counted.append(len(text))
        return words(text)

    cut("four words a line\n" * 1_000_000, 1000, count)
    assert sum(counted) < 3 * 1000 * LONGEST_TOKEN


@given(st.text(alphabet="a b\n", max_size=3000), st.integers(0, 200))
def test_never_over_the_limit_and_always_a_beginning(text: str, limit: int) -> None:
    found = cut(text, limit, words)
    assert words(found.text) <= limit
    kept = re.sub(r"\n?\[dagentd left out .*\]$", "", found.text) if found.left_out else found.text
    assert text.startswith(kept)
    assert bool(found.left_out) == (found.text != text)
