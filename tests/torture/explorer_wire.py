"""What passes between a test and the process that it stops: lines, and never two at once in one direction."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.patience import patience
from tests.torture.explorer_power import CRASHED, How


@dataclass
class Job:
    """`crash`: end at that durable step, 0 for never; `how` it ends."""

    op: str
    root: str
    crash: int = 0
    how: How = "kill"
    home: str = ""
    label: str = ""
    real_time: bool = False


@dataclass
class Outcome:
    status: int
    acked: list[str]
    steps: list[str]

    @property
    def crashed(self) -> bool:
        return self.status == CRASHED


@dataclass
class Lane:
    """One such process."""

    process: subprocess.Popen[str]

    def start(self, job: Job) -> int:
        """The pid of a worker that does the job."""
        self.tell(json.dumps(dataclasses.asdict(job)))
        word, pid = self.line()
        assert word == "started", (word, pid)
        return int(pid)

    def tell(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def line(self) -> tuple[str, str]:
        assert self.process.stdout is not None
        text = self.process.stdout.readline()
        assert text, "the process that is to be stopped ended; its stderr says why"
        word, _, rest = text.rstrip("\n").partition(" ")
        return word, rest

    def finish(self, acked: list[str] | None = None) -> Outcome:
        """Read until the worker has ended."""
        acked, steps = [] if acked is None else acked, list[str]()
        while True:
            word, rest = self.line()
            if word == "ack":
                acked.append(rest)
            elif word == "steps":
                steps = rest.split()
            elif word == "ended":
                return Outcome(int(rest), acked, steps)

    def run(self, job: Job) -> Outcome:
        """It ends well, or where it was to crash."""
        self.start(job)
        outcome = self.finish()
        assert outcome.status in (0, CRASHED), (job, outcome.status)
        return outcome

    def done(self, job: Job) -> Outcome:
        """It ends well."""
        outcome = self.run(job)
        assert not outcome.crashed
        return outcome


@contextmanager
def lane() -> Iterator[Lane]:
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-m", "tests.torture.explorer_child"]
    with subprocess.Popen(
        command, cwd=root, env={**os.environ, "PYTHONPATH": str(root)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True,
    ) as process:  # fmt: skip
        yield Lane(process)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(timeout=patience()) == 0


# --- the process's side -------------------------------------------------------------------------------------------


def say(text: str) -> None:
    os.write(1, text.encode() + b"\n")


def listen() -> bytes:
    """The next line; nothing at the end. Not buffered: a fork would have what was read ahead twice."""
    line = b""
    while not line.endswith(b"\n"):
        if not (part := os.read(0, 1 << 16)):
            return b""
        line += part
    return line
