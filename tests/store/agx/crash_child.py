"""The process that the AGX crash tests kill: it forks one worker a job, which ends at one durable step."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dagentd.adapters import clock
from dagentd.jobs.agx import Agx
from dagentd.settings import Settings
from dagentd.store.agx import configs
from tests.store.crash_child import CRASHED, Power


def _follow(agx: Agx, root: Path) -> None:
    agx.settle(root)
    agx.updated([root])


OPERATIONS: dict[str, Callable[[Agx, Path], object]] = {
    "new": lambda agx, root: agx.new(root, "fresh"),
    "switch": lambda agx, root: agx.switch(root, "side"),
    "archive": lambda agx, root: agx.archive(root, "side"),
    "restore": lambda agx, root: agx.restore(root, "old"),
    "bring back": lambda agx, root: agx.restore(root, "gone"),
    "mend": lambda agx, root: agx.restore(root, "broken"),
    "claude": lambda agx, root: agx.claude(root, "abc", "side"),
    "remove": lambda agx, root: agx.cleanup(root, ["side"]),
    "follow": lambda agx, root: _follow(agx, root),
    "configure": lambda agx, root: configs.set_user("session.backupCount", 9, 5, clock.now()),
    "index": lambda agx, root: agx.index(rebuild=True),
}


@dataclass
class Job:
    op: str
    root: str
    home: str
    crash: int = 0
    power: bool = False


@dataclass
class Children:
    process: subprocess.Popen[str]

    def run(self, job: Job) -> bool:
        """Whether it crashed; any other end than that or a good one is a failure."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(dataclasses.asdict(job)) + "\n")
        self.process.stdin.flush()
        status = int(self.process.stdout.readline())
        assert status in (0, CRASHED), (job, status)
        return status == CRASHED


@contextmanager
def children() -> Iterator[Children]:
    root = Path(__file__).resolve().parents[3]
    command = [sys.executable, "-m", "tests.store.agx.crash_child"]
    with subprocess.Popen(
        command, cwd=root, env={**os.environ, "PYTHONPATH": str(root)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True,
    ) as process:  # fmt: skip
        yield Children(process)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(timeout=30) == 0


def main() -> None:
    for line in sys.stdin:
        job = Job(**json.loads(line))
        pid = os.fork()
        if pid == 0:
            _work(job)
        _, status = os.waitpid(pid, 0)
        os.write(1, f"{os.waitstatus_to_exitcode(status)}\n".encode())


def _work(job: Job) -> None:
    status = 1
    signal.alarm(30)
    try:
        os.environ["HOME"] = job.home
        Power(job.crash, job.power)
        root = Path(job.root)
        OPERATIONS[job.op](Agx(lambda: Settings().agx, lambda: [root]), root)
        status = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)


if __name__ == "__main__":
    main()
