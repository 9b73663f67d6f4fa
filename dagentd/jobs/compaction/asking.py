"""Calls of a model for one compaction: the one that settings and keys allow, within time and caps, in the ledger."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from dagentd.adapters import clock
from dagentd.adapters.models import Answer, CallFailed, Question, anthropic_sdk, claude_cli
from dagentd.adapters.models.model_process import run
from dagentd.errors import LimitReached
from dagentd.model import spend
from dagentd.model.compaction import local, prompt
from dagentd.model.compaction import operations as answers
from dagentd.model.compaction.acceptance import Bad, Judge
from dagentd.model.compaction.items import Record
from dagentd.model.compaction.operations import Add, Operation, perform
from dagentd.model.compaction.turns import Turn
from dagentd.model.cutting import LONGEST_TOKEN
from dagentd.model.redaction import redacted
from dagentd.model.spend import Caps
from dagentd.settings.tables import Compaction
from dagentd.store.ledger import Ledger

_OUT = 16_000  # tokens that an answer may have
_UNKNOWN = ("slow", "stopped", "lost", "garbled")  # failures of which nobody knows what they cost
_NOT_ITS_OWN = ("too long", "cut", "refused", "stopped")  # failures that say nothing of the next call
_PATIENCE = 20.0  # seconds for the command that prints the key
_PASSED_ON = ("model", "overloaded")  # failures after which another model is tried


@dataclass(frozen=True)
class Backend:
    name: str
    ask: Callable[[Question], Answer]


def chosen(settings: Compaction, environment: Mapping[str, str] = os.environ) -> Backend | None:
    """None: `local`. `auto` needs a key of this process; what other tools export counts only for a named backend."""
    if settings.backend == "claude-cli":
        return Backend("claude-cli", lambda question: claude_cli.ask(question, settings.base_url))
    given = settings.api_key_command or environment.get("DAGENTD_API_KEY")
    if settings.backend == "anthropic" or (settings.backend == "auto" and given):
        url = settings.base_url
        return Backend("anthropic", lambda question: anthropic_sdk.ask(question, _key(settings, environment), url))
    return None


def _key(settings: Compaction, environment: Mapping[str, str]) -> str:
    if settings.api_key_command:
        return _printed(settings.api_key_command)
    names = ("DAGENTD_API_KEY", *(("ANTHROPIC_API_KEY",) if settings.backend == "anthropic" else ()))
    key = next((environment[name] for name in names if environment.get(name)), "")
    if not key:
        raise CallFailed("auth", "there is no key: set compaction.api_key_command, or DAGENTD_API_KEY for the daemon")
    return key


def _printed(line: str) -> str:
    """Its own words are not told: they may be the key. It is ended with all that it started, also when dagentd is."""
    try:
        done = run(["/bin/sh", "-c", line], b"", _PATIENCE, more=dict(os.environ))
    except CallFailed as error:
        if error.kind != "slow":
            raise
        raise CallFailed("auth", f"compaction.api_key_command took longer than {_PATIENCE:.0f} s") from None
    key = done.output.decode(errors="replace").strip()
    if done.status or not key or any(character.isspace() for character in key):
        raise CallFailed("auth", f"compaction.api_key_command printed no key (exit status {done.status})")
    return key


class ModelCalls:
    """`until` is by the monotonic clock; `forced` passes backoff and breaker; `count` is not calibrated."""

    def __init__(
        self, backend: Backend, ledger: Ledger, settings: Compaction, about: dict[str, str], *,
        count: Callable[[str], int], until: float, forced: bool,
    ) -> None:  # fmt: skip
        self.backend, self.count = backend.name, count
        self.model = settings.model
        self._put, self._ledger, self._settings, self._about = backend.ask, ledger, settings, about
        self._until, self._forced = until, forced

    def factor(self) -> float:
        return self._ledger.calibration().factor(self._settings.model)

    def ask(self, system: str, prompt: str, stable: str = "") -> Answer:
        """The model that is set; on failures that are its own, those that may stand in for it."""
        failure: CallFailed | None = None
        for model in (self._settings.model, *self._settings.fallback_models):
            if failure is None and not self._forced and self._ledger.rests(model) in _PASSED_ON:
                continue  # others need not fail of that
            try:
                answer = self._call(model, system, prompt, stable)
                self.model = model
                return answer
            except CallFailed as error:
                failure = error
                if error.kind not in _PASSED_ON:
                    raise
        raise failure or CallFailed("overloaded", "all models failed before and are tried again later")

    def _call(self, model: str, system: str, prompt: str, stable: str) -> Answer:
        seconds = self._until - clock.monotonic()
        if seconds <= 0:
            raise CallFailed("slow", "there was no time left for a call")
        counted = sum(map(self.count, (system, stable, prompt)))
        wanted = self._ledger.calibration().tokens(counted, model) + _OUT
        caps = Caps(self._settings.max_calls_per_hour, self._settings.max_tokens_per_day)
        about = self._about | {"backend": self.backend}
        name = self._ledger.begin(about, model, wanted, caps, forced=self._forced)
        try:
            answer = self._put(Question(model, system, prompt, seconds, stable))
        except CallFailed as error:
            unknown = error.kind in _UNKNOWN and not error.given
            given, answered = (wanted, 0) if unknown else (error.given, error.answered)
            ill, price = error.kind not in _NOT_ITS_OWN, spend.cost(model, given, answered)
            self._ledger.end(name, error.kind, failed=ill, given=given, answered=answered, cost=price,
                             retry_after=error.retry_after)  # fmt: skip
            raise
        cost = answer.cost if answer.cost is not None else spend.cost(model, answer.given, answer.answered)
        self._ledger.end(name, "answered", failed=False, given=answer.given, answered=answer.answered, cost=cost,
                         counted=counted)  # fmt: skip
        return answer


# Asking a model to compact: in portions that fit, each operation judged alone, and the bad ones asked about once.

_ROOM = 80_000  # tokens in one call: over 100 000 each costs five times as much
_HALVINGS = 3
_SHORT = 5  # a second question has less than this part of the first


@dataclass
class Asked:
    """How far a model came: `rest` are the messages that it was not asked about, because of `failure`."""

    record: Record
    rest: list[Turn]
    dropped: int = 0  # operations that were not accepted
    failure: CallFailed | LimitReached | None = None


def compacted(calls: ModelCalls, record: Record, turns: Sequence[Turn], at: str, size: int) -> Asked:
    """The record afterwards, of about `size` items; CallFailed or LimitReached if the first portion cannot be had."""
    aliases = {turn.id: f"m{number}" for number, turn in enumerate(turns, 1)}
    asked, room, halvings = Asked(record, list(turns)), _ROOM, _HALVINGS
    system = prompt.SYSTEM.replace("{size}", str(size))
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
        asked.record = perform(asked.record, operations, at)
        asked.dropped += dropped
        asked.rest = asked.rest[len(portion.turns) :]
    # A model that forgets, or was talked into forgetting, must not cost what the user demanded.
    orders = local.uncovered_orders(asked.record.items, turns[: len(turns) - len(asked.rest)])
    forgotten = [Add("decisions", order.text, (order.source,), passed_over=True) for order in orders]
    return replace(asked, record=perform(asked.record, forgotten, at))


def _answered(calls: ModelCalls, system: str, record: Record, portion: Portion) -> tuple[list[Operation], int]:
    """Ask about a portion: the operations that are accepted of the answer, and how many are not."""
    held = prompt.record(record)
    room = sum(map(calls.count, (system, held, portion.sent))) // _SHORT
    judge = Judge(record, portion.turns)
    answer = calls.ask(system, portion.sent, held).text
    if (found := answers.operations_in(answer)) is not None:
        good, bad = judge.judge(found)
        more = _put_right(calls, judge, bad, room) if bad else []
        good, bad = [*good, *more], bad[len(more) :]
    else:
        short = fitting(redacted(answer), room - calls.count(prompt.SYSTEM_FORM), calls.count)
        found = answers.operations_in(calls.ask(prompt.SYSTEM_FORM, short).text)
        good, bad = judge.judge(found or ())
    if found is None or (bad and not good):
        told = bad[0].why if bad else "it has no operations"
        raise CallFailed("refused", f"the answer was not accepted: {told}")
    return good, len(bad)


def _put_right(calls: ModelCalls, judge: Judge, bad: Sequence[Bad], room: int) -> list[Operation]:
    """Asked about once, alone; a call that fails costs only these."""
    spare = room - calls.count(prompt.SYSTEM_AGAIN)
    told = prompt.ask_again(bad, lambda text: calls.count(text) < spare)
    if not told:
        return []
    try:
        found = answers.operations_in(calls.ask(prompt.SYSTEM_AGAIN, told).text)
    except (CallFailed, LimitReached):
        return []
    return judge.judge((found or [])[: len(bad)])[0]


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
    """Cut a text until it fits. One that is surely too long is not counted: two megabytes take a while."""
    if len(text) <= room * LONGEST_TOKEN and count(text) <= room:
        return text
    longest = min(len(text) - 1, room * LONGEST_TOKEN)
    while longest > 0 and count(kept := prompt.middle_cut(text, longest)) > room:
        longest = longest * 3 // 4
    return kept if longest > 0 else text[:1]
