"""The API that compactions ask: it answers well now and then, and fails in every way that it knows."""

from __future__ import annotations

import contextlib
import json
import random
import threading
from collections import Counter
from pathlib import Path
from typing import Any

from tests import messages_api
from tests.jobs.compaction.conversing import answering
from tests.messages_api import MessagesApi, Reply

TIMEOUT = 30  # seconds for a call: the process that makes it takes some to start on a busy machine

WELL = {"well": answering(), "well, but late": messages_api.slow(1, answering())}
BADLY = {
    "prompt too long": messages_api.TOO_LONG, "wrong key": messages_api.UNAUTHORIZED,
    "no such model": messages_api.NO_MODEL, "request too large": messages_api.TOO_LARGE,
    "rate limit for a month": messages_api.RATE_LIMITED,
    "server error": messages_api.BROKEN, "overloaded": messages_api.OVERLOADED, "hung up": messages_api.CUT_BEFORE,
    "hung up within": messages_api.CUT_WITHIN, "a page of HTML": messages_api.HTML, "nothing": messages_api.EMPTY,
    "half a message": messages_api.TRUNCATED, "cut off": messages_api.MAX_TOKENS, "refused": messages_api.REFUSAL,
    "too late": messages_api.slow(3 * TIMEOUT, answering()), "no JSON": messages_api.said("no JSON at all"),
}  # fmt: skip
# What the ledger calls them, all of which must be there in the end. What is no JSON was answered.
OUTCOMES = {
    "answered", "auth", "cut", "garbled", "lost", "model", "overloaded", "rate", "refused", "server", "slow",
    "too long",
}  # fmt: skip
_ROUND = (*BADLY, *WELL, *WELL)


class Api:
    """Each way before any of them again, the one that takes longest first: by chance some would not be met in a minute.
    `given` says how often it answered in which way, `unmet` what nobody who lives has met yet."""

    def __init__(self, server: MessagesApi, ledger: Path, dice: random.Random) -> None:
        self.url, self._server, self._ledger, self._dice = server.url, server, ledger, dice
        self._lock = threading.Lock()
        self.given: Counter[str] = Counter()
        self.all_again()
        server.always(self._answer)

    def all_again(self) -> None:
        """For a process that will not be killed: what others met may have ended with them."""
        with self._lock:
            self._next, self._before = list[str](), self.given.copy()
            self._ended_before = self.outcomes()

    def _answer(self, _: Any) -> Reply:
        with self._lock:
            if not self._next:
                self._next = sorted(self._dice.sample(_ROUND, len(_ROUND)), key=lambda way: way == "too late")
            way = self._next.pop()
            self.given[way] += 1
            return (WELL | BADLY)[way]

    def outcomes(self) -> Counter[str]:
        """What the daemon says it met."""
        return Counter(record["outcome"] for record in self._records() if record["t"] == "end")

    def unmet(self) -> list[str]:
        missing = OUTCOMES - (self.outcomes() - self._ended_before).keys()
        told = [f"{outcome!r} in the ledger" for outcome in sorted(missing)]
        return [way for way in BADLY if self.given[way] == self._before[way]] + told

    def entered(self) -> int:
        """Calls in the ledger, also those of which nobody learned how they ended."""
        return sum(record["t"] == "call" for record in self._records())

    def over(self, allowed: int) -> list[str]:
        """What was spent that may not be: a call is in the ledger before it is made, and that is within its cap."""
        made, entered = len(self._server.calls()), self.entered()
        wrong = [f"{made} calls to the model were made, {entered} are in the ledger"] if made > entered else []
        return wrong + ([f"{entered} calls to the model, {allowed} are allowed"] if entered > allowed else [])

    def _records(self) -> list[dict[str, Any]]:
        """A line that a full disk or a kill cut off is none."""
        found = []
        for line in self._ledger.read_bytes().splitlines() if self._ledger.exists() else []:
            with contextlib.suppress(ValueError):
                found.append(json.loads(line))
        return found
