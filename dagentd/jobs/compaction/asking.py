"""Asking a model to compact: in portions that fit, each operation judged alone, and the bad ones asked about once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dagentd.adapters.claude import CallFailed
from dagentd.errors import LimitReached
from dagentd.jobs.compaction.calling import Calls
from dagentd.model.compaction import answers, local, prompt
from dagentd.model.compaction.acceptance import Bad, Judge
from dagentd.model.compaction.items import Record
from dagentd.model.compaction.operations import Add, Change, Operation, perform
from dagentd.model.compaction.turns import Turn
from dagentd.model.cutting import LONGEST_TOKEN
from dagentd.model.redaction import redacted

_ROOM = 80_000  # tokens in one call: over 100 000 each costs five times as much
_HALVINGS = 3
_SHORT = 5  # a second question has less than this part of the first


@dataclass
class Asked:
    """How far a model came: `rest` are the messages that it was not asked about, because of `failure`."""

    record: Record
    rest: list[Turn]
    changes: list[Change] = field(default_factory=list)
    dropped: int = 0  # operations that were not accepted
    failure: CallFailed | LimitReached | None = None

    def take(self, operations: Sequence[Operation], at: str) -> None:
        self.record, changed = perform(self.record, operations, at)
        self.changes += changed


def compacted(calls: Calls, record: Record, turns: Sequence[Turn], at: str, size: int) -> Asked:
    """The record afterwards, of about `size` items. What one portion came to is not lost through a later one;
    CallFailed or LimitReached if the first cannot be had."""
    aliases = {turn.id: f"m{number}" for number, turn in enumerate(turns, 1)}
    asked, room, halvings, system = Asked(record, list(turns)), _ROOM, _HALVINGS, prompt.system(size)
    while asked.rest:
        spare = int(room / calls.factor()) - calls.count(system) - calls.count(prompt.record(asked.record))
        portion = first_portion(asked.rest, aliases, max(spare, room // 8), calls.count)
        try:
            operations, dropped = _answered(calls, system, asked.record, portion)
        except (CallFailed, LimitReached) as error:
            if isinstance(error, CallFailed) and error.kind == "too long" and halvings:
                room, halvings = room // 2, halvings - 1
                continue
            if len(asked.rest) == len(turns):
                raise
            asked.failure = error
            break
        asked.take(operations, at)
        asked.dropped += dropped
        asked.rest = asked.rest[len(portion.turns) :]
    asked.take(_passed_over(asked.record, turns[: len(turns) - len(asked.rest)]), at)
    return asked


def _answered(calls: Calls, system: str, record: Record, portion: Portion) -> tuple[list[Operation], int]:
    """What is accepted of an answer, and how many operations are not."""
    held = prompt.record(record)
    room = sum(map(calls.count, (system, held, portion.sent))) // _SHORT
    judge = Judge(record, portion.turns)
    answer = calls.ask(system, portion.sent, held).text
    found = answers.found_in(answer)
    if found is None:
        spare = room - calls.count(prompt.SYSTEM_FORM)
        found = answers.found_in(calls.ask(prompt.SYSTEM_FORM, fitting(redacted(answer), spare, calls.count)).text)
        good, bad = judge.judge(found or ())
    else:
        good, bad = judge.judge(found)
        more = _put_right(calls, judge, bad, room) if bad else []
        good, bad = [*good, *more], bad[len(more) :]
    if found is None or (bad and not good):
        told = bad[0].why if bad else "it has no operations"
        raise CallFailed("refused", f"the answer was not accepted: {told}")
    return good, len(bad)


def _put_right(calls: Calls, judge: Judge, bad: Sequence[Bad], room: int) -> list[Operation]:
    """Asked about once, alone; a call that fails costs only these."""
    spare = room - calls.count(prompt.SYSTEM_AGAIN)
    told = prompt.ask_again(bad, lambda text: calls.count(text) < spare)
    if not told:
        return []
    try:
        found = answers.found_in(calls.ask(prompt.SYSTEM_AGAIN, told).text)
    except (CallFailed, LimitReached):
        return []
    return judge.judge((found or [])[: len(bad)])[0]


def _passed_over(record: Record, turns: Sequence[Turn]) -> list[Operation]:
    """A model that forgets, or was talked into forgetting, must not cost what the user demanded."""
    orders = local.uncovered_orders(record.items, turns)
    return [Add("decisions", order.text, (order.source,), passed_over=True) for order in orders]


# --- portions that fit into one call, by what is really sent ---------------------------------------------------


@dataclass(frozen=True)
class Portion:
    """Messages by the names that they are sent under, and as they are sent."""

    turns: dict[str, Turn]
    sent: str


def first_portion(turns: Iterable[Turn], aliases: Mapping[str, str], room: int, count: Callable[[str], int]) -> Portion:
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


def fitting(text: str, room: int, count: Callable[[str], int]) -> str:
    """What is surely too long is not counted: two megabytes take a while."""
    if len(text) <= room * LONGEST_TOKEN and count(text) <= room:
        return text
    longest = min(len(text) - 1, room * LONGEST_TOKEN)
    while longest > 0 and count(kept := prompt.middle_cut(text, longest)) > room:
        longest = longest * 3 // 4
    return kept if longest > 0 else text[:1]
