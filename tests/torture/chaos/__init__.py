"""The chaos run: the real daemon on a real project, while everything around it goes wrong; then calm, and a verdict."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

from tests import messages_api
from tests.jobs.compaction.conversing import answering
from tests.messages_api import MessagesApi, Reply
from tests.torture.chaos import verdict
from tests.torture.chaos.calm import Calm
from tests.torture.chaos.cowriter import Cowriter
from tests.torture.chaos.gitting import Gitter
from tests.torture.chaos.keeper import PATIENCE, Keeper, Killer
from tests.torture.chaos.outcome import Outcome
from tests.torture.chaos.samples import Samples
from tests.torture.chaos.talker import Compactor, Talker
from tests.torture.chaos.trouble import Trouble
from tests.torture.chaos.truth import Truth
from tests.torture.chaos.world import World, a_world

STORM, GALE = 40.0, 20.0  # seconds of load in one round: with kill -9, and in the life of one process
_TALKERS = 3
_CALLS_A_ROUND = 15  # to the model: what the daemon may spend, whatever fails

ANSWERS: list[Reply] = [
    answering(), answering(), answering(), answering(), messages_api.TOO_LONG, messages_api.UNAUTHORIZED,
    messages_api.NO_MODEL, messages_api.TOO_LARGE, messages_api.RATE_LIMITED, messages_api.BROKEN,
    messages_api.OVERLOADED, messages_api.CUT_BEFORE, messages_api.CUT_WITHIN, messages_api.HTML, messages_api.EMPTY,
    messages_api.TRUNCATED, messages_api.MAX_TOKENS, messages_api.REFUSAL, messages_api.slow(60, answering()),
    messages_api.slow(1, answering()), messages_api.said("no JSON at all"),
]  # fmt: skip


def run(seed: int, rounds: int = 1, storm: float = STORM, gale: float = GALE) -> Outcome:
    with a_world() as place, MessagesApi() as api:
        return _Run(seed, rounds, place, api).all(storm, gale)


class _Run:
    def __init__(self, seed: int, rounds: int, place: World, api: MessagesApi) -> None:
        self._seed, self._rounds, self._world, self._api = seed, rounds, place, api
        self._truth, self._samples = Truth(), Samples()
        self._keeper = Keeper(place, self._truth, self._samples)
        place.make(_settings(api.url, rounds * _CALLS_A_ROUND))
        self._trouble = Trouble(place, self._keeper, self._truth, self._samples, self._dice("trouble"))
        self._app = Cowriter(place, self._truth, self._dice("app"))
        self._git = Gitter(place, self._truth, self._trouble, self._app, self._dice("git"))
        api.always(_answers(self._dice("api")))

    def _dice(self, name: str) -> random.Random:
        return random.Random(f"{self._seed} {name}")

    def all(self, storm: float, gale: float) -> Outcome:
        self._begin()
        over = threading.Event()
        sampler = threading.Thread(target=self._sample, args=(over,), daemon=True)
        sampler.start()
        try:
            for number in range(self._rounds):
                killer = Killer(self._keeper, self._dice(f"killer {number}"))
                self._load(f"storm {number}", storm, killer.run)
                self._load(f"gale {number}", gale)
            self._git.finish()
            return self._end()
        finally:
            over.set()
            sampler.join()
            self._samples.end()
            self._keeper.end()

    def _begin(self) -> None:
        self._dagentd("init", str(self._world.root))
        self._dagentd("stop")
        self._keeper.start()
        for place, sid in self._world.sessions():
            self._keeper.call("session.getOrCreate", **place.whose(sid))

    def _dagentd(self, *arguments: str) -> None:
        line = [sys.executable, "-m", "dagentd", *arguments]
        subprocess.run(line, cwd="/", env=self._world.environment, check=True, capture_output=True)

    # --- load ---------------------------------------------------------------------------------------------

    def _load(self, name: str, seconds: float, *more: Callable[[threading.Event], None]) -> None:
        talkers = [
            kind(f"talker-{name.replace(' ', '-')}-{n}", self._world, self._keeper, self._truth, self._samples,
                 self._dice(f"talker {name} {n}"))
            for n, kind in enumerate([Talker] * _TALKERS + [Compactor])
        ]  # fmt: skip
        acts = [*(each.run for each in talkers), self._app.run, self._git.run, self._trouble.run, *more]
        over = threading.Event()
        threads = [threading.Thread(target=self._guarded, args=(act, over), daemon=True) for act in acts]
        for thread in threads:
            thread.start()
        over.wait(seconds)
        over.set()
        for thread in threads:
            thread.join(4 * PATIENCE)
            if thread.is_alive():
                self._truth.complain(f"{thread.name} does not end")
        self._keeper.check()

    def _guarded(self, act: Callable[[threading.Event], None], over: threading.Event) -> None:
        try:
            act(over)
        except Exception as error:
            self._truth.complain(f"{getattr(act, '__qualname__', act)} ended: {type(error).__name__}: {error}")

    def _sample(self, over: threading.Event) -> None:
        while not over.wait(0.2):
            pid, use = self._keeper.pid, self._keeper.use()
            if pid is not None and use is not None:
                self._samples.memory.append((self._samples.now(), pid, use.memory))

    # --- calm ---------------------------------------------------------------------------------------------

    def _end(self) -> Outcome:
        """Of the daemon that lived through the last of it, and of one that starts now and finds the same."""
        self._samples.mark("calm")
        calm = Calm(self._world, self._keeper, self._truth, self._git.legacy)
        survivor, found = calm.reached(), calm.found()
        found.other += verdict.orders(self._world) + calm.unlike_what_is_told()
        self._keeper.stop()
        self._keeper.start()
        outcome = Outcome(
            self._seed, self._truth, self._samples, found, survivor, calm.reached(), len(self._api.calls()),
            self._rounds * _CALLS_A_ROUND, self._trouble.skipped,
        )  # fmt: skip
        left = [f"process {pid} was left behind" for pid in self._keeper.left_behind()]
        outcome.judge(*left, *(f"a bug is in the log: {told}" for told in self._keeper.bugs()))
        return outcome


def _answers(dice: random.Random) -> Callable[[Any], Reply]:
    lock = threading.Lock()

    def answer(_: Any) -> Reply:
        with lock:
            return dice.choice(ANSWERS)

    return answer


def _settings(url: str, calls: int) -> str:
    """A small budget, so that sessions are full after some messages."""
    return (
        "[budget]\nlimit = 8000\nprompt_buffer = 100\n"
        f'[compaction]\nbackend = "anthropic"\nbase_url = "{url}"\ntimeout = 20\nmax_calls_per_hour = {calls}\n'
    )
