"""Calls of a model for one compaction: of the one that the settings and the keys of this process allow, within their
time and the caps, and all in the ledger."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dagentd.adapters import clock
from dagentd.adapters.claude import Answer, CallFailed, Question, command, sdk
from dagentd.adapters.claude.running import run
from dagentd.model import spend
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
    """None: `local`. `auto` calls a model only if this process was given a key; one that was exported for other tools
    counts only for who names the backend."""
    if settings.backend == "claude-cli":
        return Backend("claude-cli", lambda question: command.ask(question, settings.base_url))
    given = settings.api_key_command or environment.get("DAGENTD_API_KEY")
    if settings.backend == "anthropic" or (settings.backend == "auto" and given):
        url = settings.base_url
        return Backend("anthropic", lambda question: sdk.ask(question, _key(settings, environment), url))
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


class Calls:
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
            self._ledger.end(
                name, error.kind, failed=ill, given=given, answered=answered, cost=price, retry_after=error.retry_after
            )
            raise
        cost = answer.cost if answer.cost is not None else spend.cost(model, answer.given, answer.answered)
        self._ledger.end(
            name, "answered", failed=False, given=answer.given, answered=answer.answered, cost=cost, counted=counted
        )
        return answer
