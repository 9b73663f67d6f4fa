"""Whether operations that a model answered may be performed: each rests on what was really said."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from dagentd.model.compaction.items import Item, new
from dagentd.model.compaction.operations import Add, Move, Operation, Resolve, Supersede
from dagentd.model.compaction.turns import Turn

_LONGEST = 600  # characters of an item
_SHOWN = 12  # faults that are told
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
# What a reader would take for a fact: quoted text, paths and file names, numbers, identifiers, options.
_EXACT = re.compile(
    r"`(?P<code>[^`\n]{1,200})`"
    r"|(?P<path>(?:[\w.@~-]+)?(?:/[\w.@~-]+)+/?|\b[\w-]+\.[A-Za-z]\w{1,5}\b)"
    r"|(?P<name>\b[A-Za-z]\w*_\w+\b|\b[a-z]+[A-Z]\w*\b|\b[A-Z][A-Z0-9]{2,}\b|--[a-z][\w-]+)"
    r"|(?P<number>(?<![\w.])\d+(?:[.,:]\d+)*)"
)


def faults(operations: Sequence[Operation], items: Sequence[Item], turns: Mapping[str, Turn]) -> list[str]:
    """What is wrong with them, in words for whoever answered; nothing if all is well. `turns` are the messages that
    were sent, by the name they had there."""
    found = [
        f"operation {number} ({operation.op}): {fault}"
        for number, operation in enumerate(operations, 1)
        for fault in _faults(operation, {item.id: item for item in items}, turns)
    ]
    named = [operation.item for operation in operations if not isinstance(operation, Add)]
    found += [f"item {item} is changed twice" for item in sorted({one for one in named if named.count(one) > 1})]
    return found[:_SHOWN]


def _faults(operation: Operation, items: Mapping[str, Item], turns: Mapping[str, Turn]) -> Iterator[str]:
    if not operation.sources:
        yield "it has no sources"
    if unknown := [one for one in operation.sources if one not in turns]:
        yield f"there is no message {', '.join(unknown)}"
    cited = [turns[one] for one in operation.sources if one in turns]
    item = None if isinstance(operation, Add) else items.get(operation.item)
    if not isinstance(operation, Add):
        if item is None:
            yield f"there is no item {operation.item}"
            return
        yield from _forbidden(operation, item)
    yield from _unfounded(_target(operation, item), cited)
    if isinstance(operation, Add | Supersede):
        yield from _invented(operation.text, cited, item)


def _forbidden(operation: Operation, item: Item) -> Iterator[str]:
    if item.pinned:
        yield f"item {item.id} is pinned"
    if item.list == "decisions" and isinstance(operation, Move | Resolve):
        yield f"item {item.id} is a decision, which can only be superseded"
    if isinstance(operation, Move) and operation.to == "decisions":
        yield "what was no decision does not become one by moving"


def _target(operation: Operation, item: Item | None) -> str:
    """The list that the result stands in."""
    if isinstance(operation, Add):
        return operation.list
    if isinstance(operation, Move):
        return operation.to
    return item.list if item is not None else ""


def _unfounded(name: str, cited: Sequence[Turn]) -> Iterator[str]:
    """Only who takes part in the conversation decides or asks for something; only what shows success is done."""
    if name in ("decisions", "pending") and cited and not any(_spoke(turn) for turn in cited):
        yield f"{name} come from what the user or the assistant said, not from what a tool returned"
    outcomes = [*(tool.failed for turn in cited for tool in turn.tools), *(
        not check.passed for turn in cited for check in turn.checks
    )]  # fmt: skip
    known = [failed for failed in outcomes if failed is not None]
    if name == "completed" and known and all(known):
        yield "its sources show only failures"


def _spoke(turn: Turn) -> bool:
    return turn.role in ("user", "assistant") and bool(turn.words.strip())


def _invented(text: str, cited: Sequence[Turn], item: Item | None) -> Iterator[str]:
    if not new("decisions", text, (), "").text:
        yield "its text is empty"
    if len(text) > _LONGEST:
        yield f"its text is longer than {_LONGEST} characters"
    held = _plain("\n".join([*(_all_of(turn) for turn in cited), item.text if item else ""]))
    missing = [exact for exact in _exact(text) if not _occurs(exact, held)]
    if missing:
        yield f"not in its sources: {', '.join(missing)}"


def _all_of(turn: Turn) -> str:
    told = [f"{check.name} {check.error}" for check in turn.checks]
    return "\n".join([turn.text, *(path for tool in turn.tools for path in tool.paths), *told])


def _exact(text: str) -> Iterator[str]:
    for match in _EXACT.finditer(text):
        yield next(group for group in match.groups() if group).strip(".,:;").rstrip("/")


def _occurs(exact: str, held: str) -> bool:
    wanted = _plain(exact)
    if wanted in held:
        return not wanted.isdigit() or bool(re.search(rf"(?<!\d){wanted}(?!\d)", held))
    return wanted.isdigit() and int(wanted) < len(_WORDS) and re.search(rf"\b{_WORDS[int(wanted)]}\b", held) is not None


def _plain(text: str) -> str:
    return " ".join(text.lower().split())
