"""The chaos run: the real daemon on a real project, while everything around it goes wrong; then calm, and a verdict."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Callable, Iterator

from tests import warm
from tests.messages_api import MessagesApi
from tests.patience import patience
from tests.torture.chaos import verdict
from tests.torture.chaos.api import TIMEOUT, Api
from tests.torture.chaos.calm import Calm
from tests.torture.chaos.cowriter import Cowriter
from tests.torture.chaos.gitting import Gitter
from tests.torture.chaos.keeper import Keeper, Killer
from tests.torture.chaos.outcome import Outcome
from tests.torture.chaos.samples import Samples
from tests.torture.chaos.talker import Compactor, Talker
from tests.torture.chaos.trouble import Trouble
from tests.torture.chaos.truth import Truth
from tests.torture.chaos.world import World, a_world

STORM, GALE = 40.0, 20.0  # seconds of load in one round: with kill -9, and in the life of one process
_KILLS = 3  # at least
_CLIENTS = (Talker, Talker, Talker, Compactor, Compactor, Compactor)
# Calls to the model. In a storm they soon come to an end, and compactions are quick ones; then all may fail that can.
_FEW, _MANY = 15, 150
_TOKENS_A_CALL = 50_000  # more than one may take


def run(seed: int, rounds: int = 1, *, short: bool = False) -> Outcome:
    """A short one is a quarter as long, and does not wait until the API has failed in all its ways: each call loads the
    SDK."""
    with a_world() as place, MessagesApi() as server:
        return _Run(seed, rounds, place, server, short).all()


class _Run:
    def __init__(self, seed: int, rounds: int, place: World, server: MessagesApi, short: bool) -> None:
        self._seed, self._rounds, self._world, self._short = seed, rounds, place, short
        self._truth, self._samples = Truth(), Samples()
        self._keeper = Keeper(place, self._truth, self._samples)
        place.make(_settings(server.url, _FEW))
        self._trouble = Trouble(place, self._keeper, self._truth, self._samples, self._dice("trouble"))
        self._app = Cowriter(place, self._truth, self._dice("app"))
        self._git = Gitter(place, self._truth, self._trouble, self._app, self._dice("git"))
        self._api = Api(server, place.ledger, self._dice("api"))
        self._allowed = _FEW

    def _dice(self, name: str) -> random.Random:
        return random.Random(f"{self._seed} {name}")

    def all(self) -> Outcome:
        part = 0.25 if self._short else 1.0
        self._begin()
        over = threading.Event()
        sampler = threading.Thread(target=self._sample, args=(over,), daemon=True)
        sampler.start()
        try:
            for number in range(self._rounds):
                killer = Killer(self._keeper, self._dice(f"killer {number}"))
                self._allow(_FEW)
                with self._load(f"storm {number}", killer.run):
                    time.sleep(part * STORM)
                    self._await(lambda: [] if self._truth.done["kill -9"] >= _KILLS else ["kill -9"])
                self._allow(_MANY)
                self._api.all_again()
                with self._load(f"gale {number}"):
                    time.sleep(part * GALE)
                    if not self._short:
                        self._await(self._api.unmet)  # by a process that lives
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
        warm.run(*arguments, cwd="/", env=self._world.environment).check_returncode()

    def _allow(self, calls: int) -> None:
        """So many more than were made, of which each counts also if nobody knows what became of it."""
        self._truth.complaints += self._api.over(self._allowed)
        self._allowed = self._api.entered() + calls
        self._world.configure(_settings(self._api.url, self._allowed))
        self._keeper.stop()
        self._keeper.start()

    # --- load ---------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _load(self, name: str, *more: Callable[[threading.Event], None]) -> Iterator[None]:
        talkers = [
            kind(f"talker-{name.replace(' ', '-')}-{n}", self._world, self._keeper, self._truth, self._samples,
                 self._dice(f"talker {name} {n}"))
            for n, kind in enumerate(_CLIENTS)
        ]  # fmt: skip
        acts = [*(each.run for each in talkers), self._app.run, self._git.run, self._trouble.run, *more]
        over = threading.Event()
        threads = [threading.Thread(target=self._guarded, args=(act, over), daemon=True) for act in acts]
        for thread in threads:
            thread.start()
        yield
        over.set()
        for thread in threads:
            thread.join(patience(600))
            if thread.is_alive():
                self._truth.complain(f"{thread.name} does not end")
        self._keeper.check()

    def _await(self, unmet: Callable[[], list[str]]) -> None:
        """What must be met in every run: a slow machine may need longer for it."""
        end = time.monotonic() + patience(360)
        while missing := unmet():
            if time.monotonic() > end:
                self._truth.complain(f"not met in all that time: {', '.join(missing)}")
                return
            time.sleep(0.5)

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
            self._seed, self._truth, self._samples, found, survivor, calm.reached(), self._api.given,
            self._api.outcomes(), self._allowed, self._trouble.skipped, self._keeper.log(),
        )  # fmt: skip
        left = [f"process {pid} was left behind" for pid in self._keeper.left_behind()]
        bugs = [f"a bug is in the log: {told}" for told in self._keeper.bugs()]
        outcome.judge(*left, *bugs, *self._api.over(self._allowed))
        return outcome


def _settings(url: str, calls: int) -> str:
    """A small budget, so that sessions are full after some messages."""
    return (
        "[budget]\nlimit = 8000\nprompt_buffer = 100\n"
        f'[compaction]\nbackend = "anthropic"\nbase_url = "{url}"\ntimeout = {TIMEOUT}\nkeep_recent_tokens = 0\n'
        f"max_calls_per_hour = {calls}\nmax_tokens_per_day = {calls * _TOKENS_A_CALL}\n"
    )
