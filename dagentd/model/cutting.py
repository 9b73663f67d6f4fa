"""Texts that are over their limit: cut at the end of a line, with a line that says how much is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

Count = Callable[[str], int]

LONGEST_TOKEN = 16  # characters on average that even a text of the longest words has for each token
_BLOCK = 4096  # characters that are counted at a time


@dataclass(frozen=True)
class Cut:
    """`left_out` says in words how much is missing; it is empty if nothing is."""

    text: str
    left_out: str = ""


def cut(text: str, limit: int, count: Count) -> Cut:
    """As many whole lines as have at most `limit` tokens together with the line that ends them. A first line that is
    too long by itself is cut inside. Only what may be kept is counted: a file of any size costs the same."""
    begin = text[: limit * LONGEST_TOKEN]
    if len(begin) == len(text) and count(text) <= limit:
        return Cut(text)
    room = limit - count(_note(text, ""))
    kept = _lines_within(begin, room, count) or _part_of_line(begin, room, count)
    if not kept:
        return Cut("", _missing(text, ""))
    return Cut(f"{kept.rstrip()}\n{_note(text, kept)}", _missing(text, kept))


def _lines_within(text: str, room: int, count: Count) -> str:
    """Block by block and then, in the block that is too much, line by line: that costs little more than to count
    once."""
    at = 0
    for size in (_BLOCK, 1):
        for end in _line_ends(text, at, size):
            room -= count(text[at:end])
            if room < 0:
                room += count(text[at:end])
                break
            at = end
    return text[:at]


def _line_ends(text: str, at: int, size: int) -> Iterator[int]:
    """Where lines end, each at least so many characters after the one before."""
    while at < len(text) and (at := text.find("\n", at + size - 1) + 1):
        yield at


def _part_of_line(text: str, room: int, count: Count) -> str:
    part = text[: text.find("\n") if "\n" in text else len(text)]
    while part and count(part) > room:
        part = part[: len(part) * 3 // 4]
    return part


def _note(text: str, kept: str) -> str:
    return f"[dagentd left out {_missing(text, kept)}]"


def _missing(text: str, kept: str) -> str:
    """In lines and characters: to count the tokens of what nobody reads would cost most of the time."""
    rest = text[len(kept) :]
    lines, of = _number_of_lines(rest), _number_of_lines(text)
    return f"{lines} of {of} lines ({len(rest)} of {len(text)} characters)"


def _number_of_lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n"))
