"""Short talks as developers type them, and what `local` makes of each: which side of a reversal stays, what is kept.

    python -m tests.model.compaction.typed     prints the figures

In the files below `typed/`, `u:` is the user and `a:` the assistant. Reversals begin with `= OLD | NEW`; a statement
ends with the words by which it is known; what begins with `x:` is none. `bystanders` has pairs that both hold.
The rules were written with these, but for `statements_more`, of which nobody looked at what fails."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dagentd.model.compaction.items import Item
from dagentd.model.compaction.local.subjects import subject
from tests.model.compaction.said import Raw, assistant, items_after, user
from tests.planted.scoring import mentions

FOLDER = Path(__file__).parent / "typed"
BYSTANDERS = (
    "The tablet app stays on Flutter.",
    "Never email customers from the sandbox.",
    "All money is kept in cents.",
    "The archive holds 7 years.",
)


@dataclass(frozen=True)
class Reversal:
    old: str
    new: str
    talk: tuple[Raw, ...]

    def outcome(self) -> tuple[bool, bool]:
        """Whether the old side is gone, and whether the new one is there."""
        items = _open(items_after(*map(user, BYSTANDERS), *self.talk))
        assert set(BYSTANDERS) <= {item.text for item in items}
        told = [item.text for item in items if mentions(item.text, ((self.new,),))]
        rest = [item.text for item in items if item.text not in told and mentions(item.text, ((self.old,),))]
        return all(subject(text).negative for text in rest), bool(told)


def reversals(name: str) -> list[Reversal]:
    parts = (FOLDER / f"{name}.txt").read_text(encoding="utf-8").split("= ")
    return [_reversal(part.splitlines()) for part in parts if part.strip()]


def _reversal(lines: list[str]) -> Reversal:
    old, new = lines[0].split(" | ")
    return Reversal(old, new, tuple(map(_said, lines[1:])))


def _said(line: str) -> Raw:
    return (user if line.startswith("u: ") else assistant)(line[3:])


def kept(name: str, kind: str) -> list[bool]:
    """Of the statements of that kind: `u: `, `a: ` or `x: `."""
    lines = (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return [_is_kept(line.removeprefix("x: ")) for line in lines if line.startswith(kind)]


def _is_kept(line: str) -> bool:
    said, needed = line.rsplit(" | ", 1)
    needs = tuple((word,) for word in needed.split(", "))
    items = _open(items_after(user("go on"), _said(said)))
    return any(item.list in ("decisions", "pending") and mentions(item.text, needs) for item in items)


def bystanders() -> list[tuple[str, str]]:
    lines = (FOLDER / "bystanders.txt").read_text(encoding="utf-8").splitlines()
    return [(first, second) for first, second in (line.split(" | ") for line in lines)]


def open_ids(*talk: Raw) -> set[str]:
    return {item.id for item in _open(items_after(*talk)) if item.list in ("decisions", "pending")}


def _open(items: list[Item]) -> list[Item]:
    return [item for item in items if not item.resolved and item.list not in ("completed", "inProgress")]


def _figures() -> Iterator[str]:
    for path in sorted(FOLDER.glob("reversals*.txt")):
        ends = [each.outcome() for each in reversals(path.stem)]
        gone, there = (sum(side) for side in zip(*ends, strict=True))
        yield f"{path.stem}: of {len(ends)} old sides {gone} are gone, and {there} new ones there"
    for path in sorted(FOLDER.glob("statements*.txt")):
        for kind, what in (("u: ", "user"), ("a: ", "assistant"), ("x: ", "talk")):
            if found := kept(path.stem, kind):
                yield f"{path.stem}, {what}: {sum(found)} of {len(found)} kept"


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in _figures())
