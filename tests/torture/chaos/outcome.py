"""What a chaos run came to, and when that is well."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.torture.chaos.samples import Samples
from tests.torture.chaos.truth import Truth
from tests.torture.chaos.verdict import Found

# What the process that lived through the last round may have more than one that just started and serves the same.
BOUNDS = {"memory, MB": 40.0, "threads": 4.0, "descriptors": 12.0, "watches": 0.0}


class Level(NamedTuple):
    """What a daemon takes, in the order of BOUNDS."""

    memory: float
    threads: int
    descriptors: int
    watches: int


@dataclass
class Outcome:
    seed: int
    truth: Truth
    samples: Samples
    found: Found
    survivor: Level
    fresh: Level
    answers: Counter[str]  # of the API, by the way it answered or failed
    outcomes: Counter[str]  # of calls to it, as the daemon has them in its ledger
    allowed_calls: int
    skipped: list[str]
    log: str
    complaints: list[str] = field(default_factory=list)

    def judge(self, *more: str) -> None:
        """Complain of everything that must not be."""
        self.complaints = [*self.truth.complaints, *self.found.complaints(), *more, *self._grown()]

    def _grown(self) -> list[str]:
        """Less is wrong only with watches: something is then not heard."""
        levels = zip(BOUNDS.items(), self.survivor, self.fresh, strict=True)
        grown = [f"{now:g} {name}, a fresh one has {then:g}" for (name, more), now, then in levels if now > then + more]
        deaf = f"only {self.survivor.watches} watches, a fresh one has {self.fresh.watches}"
        return [*grown, deaf] if self.survivor.watches < self.fresh.watches else grown
