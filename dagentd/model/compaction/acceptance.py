"""Whether operations that a model answered may be performed: each rests on what was really said."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from dagentd.model.compaction.items import Item, new
from dagentd.model.compaction.operations import Add, Move, Operation, Resolve, Supersede
from dagentd.model.compaction.turns import Turn
from dagentd.model.rendering import json_text

_LONGEST = 600  # characters of an item
_MOST = 1000  # operations: more than any answer within its limit can have
_SHOWN = 12  # faults that are told
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_ORDINALS = ("zeroth", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
# What everybody calls things in prose, whatever they are called in the messages.
_COMMON = (
    "api", "cli", "css", "csv", "gui", "html", "http", "https", "json", "readme", "rest", "sql", "todo", "url", "utc",
)  # fmt: skip
# What a reader would take for a fact: quoted text, paths and file names, numbers, identifiers, options.
_EXACT = re.compile(
    r"`(?P<code>[^`\n]{1,200})`"
    r"|(?P<path>(?:[\w.@~-]+)?(?:/[\w.@~-]+)+/?|\b[\w-]+\.[A-Za-z]\w{1,5}\b)"
    r"|(?P<name>\b[A-Za-z]\w*_\w+\b|\b[A-Z]?[a-z]+[A-Z]\w*\b|\b[A-Z][A-Z0-9]{2,}\b|--[a-z][\w-]+)"
    r"|(?<![\w.])v?(?P<number>\d+(?:[.,:_]\d+)*)"
)
_THEIRS = ("decisions", "pending")  # the lists of what only who takes part in the conversation can say
_GROUPED = re.compile(r"(?<=\d)[,_](?=\d{3}(?!\d))")  # 10,000 and 10_000 are 10000


def faults(operations: Sequence[Operation], items: Sequence[Item], turns: Mapping[str, Turn]) -> list[str]:
    """What is wrong with them, in words for whoever answered; nothing if all is well. `turns` are the messages that
    were sent, by the name they had there."""
    if len(operations) > _MOST:
        return [f"there are more than {_MOST} operations"]
    by_id = {item.id: item for item in items}
    found = [
        f"operation {number} ({operation.op}): {fault}"
        for number, operation in enumerate(operations, 1)
        for fault in _faults(operation, by_id, turns)
    ]
    named = Counter(operation.item for operation in operations if not isinstance(operation, Add))
    found += [f"item {item} is changed twice" for item, times in sorted(named.items()) if times > 1]
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
    target = _target(operation, item)
    yield from _unfounded(target, cited)
    if isinstance(operation, Add | Supersede):
        part = _said_in if target in _THEIRS else _all_of
        yield from _invented(operation.text, [*map(part, cited), item.text if item else ""])


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
    if name in _THEIRS and cited and not any(_spoke(turn) for turn in cited):
        yield f"{name} come from what the user or the assistant said, not from what a tool returned"
    outcomes = [*(tool.failed for turn in cited for tool in turn.tools), *(
        not check.passed for turn in cited for check in turn.checks
    )]  # fmt: skip
    known = [failed for failed in outcomes if failed is not None]
    if name == "completed" and known and all(known):
        yield "its sources show only failures"


def _spoke(turn: Turn) -> bool:
    return turn.role in ("user", "assistant") and bool(turn.words.strip())


def _invented(text: str, sources: Sequence[str]) -> Iterator[str]:
    if not new("decisions", text, (), "").text:
        yield "its text is empty"
    if len(text) > _LONGEST:
        yield f"its text is longer than {_LONGEST} characters"
        return
    held = _plain("\n".join(sources))
    missing = [match[0].strip() for match in _EXACT.finditer(text) if not _occurs(match, held)]
    if missing:
        yield f"not in its sources: {', '.join(missing)}"


def _said_in(turn: Turn) -> str:
    """What the user or the assistant said or gave to a tool; not what that returned, which may be anybody's words: one
    that is cited beside a message of the user's would else have its facts made decisions of his."""
    given = (json_text(tool.input) for tool in turn.tools if tool.input is not None)
    return "\n".join([turn.words, *given]) if turn.role in ("user", "assistant") else ""


def _all_of(turn: Turn) -> str:
    told = [f"{check.name} {check.error}" for check in turn.checks]
    return "\n".join([turn.text, *(path for tool in turn.tools for path in tool.paths), *told])


def _occurs(exact: re.Match[str], held: str) -> bool:
    if exact["number"]:
        return _number_occurs(_plain(exact["number"]), held)
    wanted = _plain(exact[exact.lastgroup or 0]).strip(".,:;").rstrip("/")
    if wanted in held or wanted in _COMMON:
        return True
    return bool(exact["path"]) and all(word in held for word in _said_as_words(wanted))


def _said_as_words(path: str) -> list[str]:
    """What only looks like a path: `create/update/delete`, `Node.js`. What is one stays whole."""
    if re.fullmatch(r"[a-z]+(?:/[a-z]+)+", path):
        return path.split("/")
    return [path.removesuffix(".js")] if re.fullmatch(r"[a-z]+\.js", path) else [path]


def _number_occurs(wanted: str, held: str) -> bool:
    if re.search(rf"(?<!\d)(?<!\d[.,]){re.escape(wanted)}(?!\d)", held):
        return True
    names = [words[int(wanted)] for words in (_WORDS, _ORDINALS) if wanted.isdecimal() and int(wanted) < len(words)]
    return any(re.search(rf"\b{name}\b", held) for name in names)


def _plain(text: str) -> str:
    return " ".join(_GROUPED.sub("", text).lower().split())
