"""The compactions of a session that can be undone: the last first, and why an earlier one cannot."""

from __future__ import annotations

from dataclasses import astuple, dataclass, field
from typing import Any

from dagentd.errors import Conflict
from dagentd.model.compaction.items import items_of

Held = tuple[int, int, int]  # a checkpoint's record and its version


@dataclass
class Compacted:
    """Where its record is, and the checkpoint that it replaced. `mark` is the end of the record whose checkpoint is
    still the one that it made; `last_at` is when the compaction before it was."""

    start: int
    end: int
    before: Held | None
    mark: int
    last_at: str | None

    def is_right_below(self, later: Compacted) -> bool:
        """Nobody edited the checkpoint between the two."""
        return later.before is not None and later.before[1] == self.mark

    def stands_at(self, checkpoint_pos: int, before: int) -> bool:
        """The checkpoint is as it left it, and it started from the one at `before`."""
        return self.end == self.mark == checkpoint_pos and (self.before[1] if self.before else 0) == before


@dataclass
class Compactions:
    stack: list[Compacted] = field(default_factory=list)
    barrier: str = "was not compacted, or all of it is undone"  # why there is nothing below the stack
    undone: bool = False  # the last thing that was done about compaction is an undo

    def done(self, start: int, end: int, before: Held | None, last_at: str | None) -> None:
        self.stack.append(Compacted(start, end, before, end, last_at))
        self.undone = False

    def taken_back(self, end: int) -> Compacted | None:
        """The last one was undone. The one before it is as it was then: with its own checkpoint, or an edited one."""
        self.undone = True
        last = self.stack.pop() if self.stack else None
        if last is not None and self.stack and self.stack[-1].is_right_below(last):
            self.stack[-1].mark = end
        return last

    def cleared(self) -> None:
        self.stack, self.barrier = [], "was cleared since it was compacted"

    def pinned(self, before: int, end: int) -> None:
        """A checkpoint that differs only by what is pinned is no other one than the one before it, edited or not."""
        if self.stack and self.stack[-1].mark == before:
            self.stack[-1].mark = end

    def last(self, session_id: str, checkpoint_pos: int) -> Compacted:
        """The one to undo now."""
        history = f"`dagentd history {session_id}` shows"
        if not self.stack:
            raise Conflict(f"the session {self.barrier}", hint=f"{history} every message.")
        if self.stack[-1].mark != checkpoint_pos:
            told = "the session has a checkpoint that was edited since it was compacted"
            raise Conflict(told, hint=f"{history} the messages; undoing would lose the edit.")
        return self.stack[-1]

    def dump(self) -> dict[str, Any]:
        return {"stack": [astuple(each) for each in self.stack], "barrier": self.barrier, "undone": self.undone}

    @classmethod
    def load(cls, raw: dict[str, Any]) -> Compactions:
        return cls([Compacted(*each) for each in raw["stack"]], raw["barrier"], raw["undone"])


def same_but_pins(one: dict[str, Any] | None, other: dict[str, Any]) -> bool:
    same = one is not None and one.get("summary") == other.get("summary")
    return same and [each.id for each in items_of(one)] == [each.id for each in items_of(other)]
