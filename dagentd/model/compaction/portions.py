"""Messages in portions that fit into one call, by what is really sent; one that is too long by itself is cut in its
middle."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from dagentd.model.compaction import prompt
from dagentd.model.compaction.turns import Turn
from dagentd.model.cutting import LONGEST_TOKEN

Count = Callable[[str], int]


@dataclass(frozen=True)
class Portion:
    """Messages by the names that they are sent under, and as they are sent."""

    turns: dict[str, Turn]
    sent: str


def first_portion(turns: Iterable[Turn], aliases: Mapping[str, str], room: int, count: Count) -> Portion:
    """As many of the first as have at most `room` tokens together; one in any case."""
    held, said, used = dict[str, Turn](), list[str](), count(prompt.messages(["x"]))
    for turn in turns:
        alias = aliases[turn.id]
        text = fitting(prompt.message(turn, alias), max(0, room - count(prompt.messages(["x"])) - 1), count)
        size = count(text) + 1  # the line end
        if held and used + size > room:
            break
        held[alias], used = turn, used + size
        said.append(text)
    return Portion(held, prompt.messages(said))


def fitting(text: str, room: int, count: Count) -> str:
    """What is surely too long is not counted: two megabytes take a while."""
    if len(text) <= room * LONGEST_TOKEN and count(text) <= room:
        return text
    longest = min(len(text) - 1, room * LONGEST_TOKEN)
    while longest > 0 and count(kept := prompt.middle_cut(text, longest)) > room:
        longest = longest * 3 // 4
    return kept if longest > 0 else text[:1]
