"""The daemon's process: started, ended in the worst way, and looked at from outside."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dagentd.rpc.client import Client, Unreachable
from tests.patience import patience
from tests.torture.chaos.samples import Samples
from tests.torture.chaos.truth import Truth
from tests.torture.chaos.world import World
from tests.warm import Command


@dataclass(frozen=True)
class Use:
    """What a process takes of the machine."""

    memory: float  # megabytes
    threads: int
    descriptors: int


class Keeper:
    def __init__(self, world: World, truth: Truth, samples: Samples) -> None:
        self._world, self._truth, self._samples = world, truth, samples
        self._process: subprocess.Popen[bytes] | None = None
        self._log = world.folder / "log"  # not on the disk that fills up: what goes wrong is to be read
        self._changing = threading.Lock()

    @property
    def pid(self) -> int | None:
        process = self._process
        return process.pid if process is not None and process.poll() is None else None

    def start(self, twins: bool = False) -> None:
        """Serving when this returns. Of twins that start at once, one must give way."""
        with self._changing:
            started = [self._popen() for _ in range(1 + twins)]
            self._process = self._winner(started)

    def kill(self) -> None:
        with self._changing:
            self._end(signal.SIGKILL)
        self._samples.mark("kill")
        self._truth.count("kill -9")

    def stop(self) -> None:
        with self._changing:
            status = self._end(signal.SIGTERM)
        self._samples.mark("stop")
        self._truth.count("stops")
        if status != 0:
            self._truth.complain(f"told to stop, the daemon ended with status {status}")

    def end(self) -> None:
        """All that this run started."""
        with self._changing:
            self._end(signal.SIGKILL)
        for pid in self.left_behind():
            os.kill(pid, signal.SIGKILL)

    def client(self, timeout: float) -> Client:
        return Client(self._world.socket, timeout=timeout)

    def call(self, method: str, **params: Any) -> Any:
        with self.client(patience(120)) as client:
            return client.call(method, **params)

    def check(self) -> None:
        """It must not have ended by itself."""
        with self._changing:
            if self._process is not None and (status := self._process.poll()) is not None:
                self._truth.complain(f"the daemon ended by itself with status {status}: {self.last_words()}")
                self._process = self._winner([self._popen()])

    def use(self) -> Use | None:
        """None if it does not run just now."""
        pid = self.pid
        try:
            told = dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
            return Use(int(told["VmRSS"].split()[0]) / 1000, int(told["Threads"]), len(os.listdir(f"/proc/{pid}/fd")))
        except (OSError, KeyError):
            return None

    def log(self) -> str:
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    def last_words(self) -> str:
        return self.log()[-2000:]

    def bugs(self) -> list[str]:
        """What the log has of them, each once."""
        entries = re.split(r"^(?=\d{4}-\d\d-\d\d )", self.log(), flags=re.MULTILINE)
        found = {entry[24:]: entry for entry in entries if re.search("internal error|Traceback", entry)}
        return [entry[-3000:] for entry in found.values()]

    def left_behind(self) -> list[int]:
        """Processes of this run beside the daemon, also those that get little of its environment."""
        mark = f"HOME={self._world.home}".encode()
        found = []
        for name in filter(str.isdecimal, os.listdir("/proc")):
            try:
                if int(name) != self.pid and mark in Path(f"/proc/{name}/environ").read_bytes().split(b"\0"):
                    found.append(int(name))
            except OSError:
                continue
        return found

    def _popen(self) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            nothing = subprocess.DEVNULL
            return Command("run", cwd="/", env=self._world.environment, stdin=nothing, stdout=nothing, stderr=log)

    def _winner(self, started: list[subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
        end = time.monotonic() + patience(120)
        while time.monotonic() < end:
            living = [each for each in started if each.poll() is None]
            if not living:
                self._truth.complain(f"the daemon did not start: {self.last_words()}")
                started = living = [self._popen()]
            if len(living) == 1 and self._answers(living[0].pid):
                return living[0]
            time.sleep(0.01)
        raise TimeoutError(f"the daemon does not answer: {self.last_words()}")

    def _answers(self, pid: int) -> bool:
        try:
            return bool(self.call("daemon.status")["pid"] == pid)
        except Unreachable:
            return False

    def _end(self, how: signal.Signals) -> int:
        process = self._process
        if process is None:
            return 0
        process.send_signal(how)
        try:
            return process.wait(patience(120))
        except subprocess.TimeoutExpired:
            self._truth.complain(f"the daemon does not end by {how.name}: {self.last_words()}")
            process.kill()
            return process.wait()


class Killer:
    """kill -9 every few seconds, or a stop now and then; and each time the daemon is there again at once."""

    def __init__(self, keeper: Keeper, dice: random.Random) -> None:
        self._keeper, self._dice = keeper, dice

    def run(self, over: threading.Event) -> None:
        while not over.wait(self._dice.uniform(1.5, 5)):
            self._keeper.check()
            self._keeper.stop() if self._dice.random() < 0.15 else self._keeper.kill()
            over.wait(self._dice.choice([0, 0, 0.3]))
            self._keeper.start(twins=self._dice.random() < 0.2)
