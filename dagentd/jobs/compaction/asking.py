"""Asking a model to compact: in portions that fit, each answer judged, and corrected once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dagentd.adapters.claude import CallFailed
from dagentd.jobs.compaction.calling import Calls
from dagentd.model.compaction import local, prompt
from dagentd.model.compaction.acceptance import faults
from dagentd.model.compaction.chunks import chunks
from dagentd.model.compaction.items import Item
from dagentd.model.compaction.operations import Add, Change, Operation, Supersede, perform
from dagentd.model.compaction.turns import Turn
from dagentd.model.jsontext import Undecodable
from dagentd.model.redaction import redacted

_ROOM = 80_000  # tokens of messages in one call: over 100 000 in all, each costs five times as much
_HALVINGS = 3


@dataclass(frozen=True)
class Asked:
    items: list[Item]
    changes: list[Change]
    model: str


def compacted(calls: Calls, items: Sequence[Item], turns: Sequence[Turn], at: str) -> Asked:
    """The items afterwards; CallFailed or LimitReached if they cannot be had."""
    room, halvings = int(_ROOM / calls.factor()), 0
    aliases = {turn.id: f"m{number}" for number, turn in enumerate(turns, 1)}
    held, changes, rest = list(items), list[Change](), list(turns)
    while rest:
        portion = next(chunks(rest, room, calls.count))
        try:
            operations = _operations(calls, held, portion, aliases)
        except CallFailed as error:
            if error.kind != "too long" or halvings == _HALVINGS:
                raise
            room, halvings = room // 2, halvings + 1
            continue
        held, changed = perform(held, operations, at)
        changes += changed
        rest = rest[len(portion) :]
    return Asked(held, changes, calls.model)


def _operations(calls: Calls, items: Sequence[Item], turns: Sequence[Turn], aliases: dict[str, str]) -> list[Operation]:
    """Accepted, or corrected once; with what the user demanded and the model passed over."""
    asked = prompt.ask(items, turns, aliases)
    named = {aliases[turn.id]: turn for turn in turns}
    answer = calls.ask((asked,))
    operations, wrong = _judged(answer.text, items, named)
    if wrong:
        again = calls.ask((asked, redacted(answer.text), redacted(prompt.ask_again(wrong))))
        operations, wrong = _judged(again.text, items, named)
    if wrong:
        raise CallFailed("refused", f"the answer was not accepted: {wrong[0]}")
    own = [_with_ids(operation, named) for operation in operations]
    return [*own, *_passed_over(own, items, turns)]


def _judged(text: str, items: Sequence[Item], named: dict[str, Turn]) -> tuple[list[Operation], list[str]]:
    try:
        operations = prompt.parse(text)
    except Undecodable as error:
        return [], [str(error)]
    return operations, faults(operations, items, named)


def _with_ids(operation: Operation, named: dict[str, Turn]) -> Operation:
    """The messages by their own ids, and no secret in what came back."""
    sources = tuple(named[alias].id for alias in operation.sources)
    if isinstance(operation, Add | Supersede):
        return operation.model_copy(update={"sources": sources, "text": redacted(operation.text)})
    return operation.model_copy(update={"sources": sources})


def _passed_over(own: Sequence[Operation], items: Sequence[Item], turns: Sequence[Turn]) -> list[Operation]:
    """Decisions in messages of the user that no operation rests on: a model that forgets, or was talked into
    forgetting, must not cost what the user demanded."""
    cited = {source for operation in own for source in operation.sources}
    changed = {operation.item for operation in own if not isinstance(operation, Add)}
    users = {turn.id for turn in turns if turn.role == "user"} - cited
    old = {item.id for item in items if item.list == "decisions"} - changed
    return [
        operation
        for operation in local.operations(items, turns)
        if set(operation.sources) <= users
        and (
            (isinstance(operation, Add) and operation.list == "decisions")
            or (isinstance(operation, Supersede) and operation.item in old)
        )
    ]
