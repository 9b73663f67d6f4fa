"""Calls of a model for one compaction: within their time and the caps, and all in the ledger."""

from __future__ import annotations

from collections.abc import Callable

from dagentd.adapters import clock
from dagentd.adapters.claude import Answer, CallFailed, Question
from dagentd.jobs.compaction.backends import Backend
from dagentd.model import spend
from dagentd.model.spend import Caps
from dagentd.settings.tables import Compaction
from dagentd.store.ledger import Ledger

_OUT = 16_000  # tokens that an answer may have
_UNKNOWN = ("slow", "stopped", "lost", "garbled")  # failures of which nobody knows what they cost
_NOT_ITS_OWN = ("too long", "cut", "refused", "stopped")  # failures that say nothing of the next call
_PASSED_ON = ("model", "overloaded")  # failures after which another model is tried


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
