"""What is planted: a fact with the words by which a reader recognises it, and when it stops being true."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Kind = Literal["decision", "constraint", "reversal", "path", "number", "error", "request", "completed"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Needs = tuple[tuple[str, ...], ...]

NOT = ("not", "never", "avoid", "forbidden", "off limits", "nothing", "no one", "nobody", "prohibited", "no")


@dataclass
class Fact:
    """Known to whoever reads, for each of `needs`, one of its alternatives, all in one item. `text` is how a good
    summary puts it and `said` how it was said in `message`. After `over_by` in round `over` it holds no more; a fact
    that was replaced by another has that one in `successor`."""

    id: str
    kind: Kind
    list: str
    text: str
    needs: Needs
    said: str = ""
    message: str = ""
    round: int = -1
    over: int | None = None
    over_by: str = ""
    over_said: str = ""
    successor: Fact | None = None
    at: float = 0.0  # where in the conversation, in rounds

    def live(self, rounds: int) -> bool:
        """True of a conversation of which so many rounds were seen."""
        return self.planted(rounds) and not self.ended(rounds)

    def planted(self, rounds: int) -> bool:
        return 0 <= self.round < rounds

    def ended(self, rounds: int) -> bool:
        return self.over is not None and self.over < rounds


@dataclass
class Distractor:
    """Looks like a fact and is none; it became one if an item has all of its needs."""

    kind: str
    needs: Needs
    said: str = ""
    message: str = ""
    round: int = -1
    at: float = 0.0


def chosen(topic: str, choice: str) -> Needs:
    return ((choice,), (topic, *(word for word in topic.split() if len(word) > 2)))


def forbidden(words: tuple[str, ...]) -> Needs:
    return (*((word,) for word in words), NOT)


def demanded(words: tuple[str, ...]) -> Needs:
    return tuple((word,) for word in words)


def placed(word: str, path: str) -> Needs:
    return ((path, path.rstrip("/")), (word,))


def measured(word: str, value: int) -> Needs:
    return ((str(value), f"{value:,}"), (word,))
