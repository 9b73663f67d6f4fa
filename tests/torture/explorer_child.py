"""The process that the torture tests stop: it forks a worker for each life, which says what was acknowledged.

Started once and before any thread: a fork costs milliseconds where an interpreter costs half a second."""

from __future__ import annotations

import faulthandler
import gc
import importlib
import json
import logging
import os
import sys
import traceback
from pathlib import Path

from dagentd.adapters import tokens
from tests.torture.explorer_operations import OPERATIONS, Life
from tests.torture.explorer_power import Power
from tests.torture.explorer_time import Time
from tests.torture.explorer_wire import Job, listen, say
from tests.torture.machine_daemon import serve


def main() -> None:
    for costly in ("pygit2", "pydantic_core"):  # what is loaded now, no worker loads
        importlib.import_module(costly)
    tokens.count("and so is the vocabulary")
    gc.freeze()  # or collecting would copy what all workers share
    while line := listen():
        job = Job(**json.loads(line))
        pid = os.fork()
        if pid == 0:
            _work(job)
        _, status = os.waitpid(pid, 0)
        say(f"ended {os.waitstatus_to_exitcode(status)}")


def _work(job: Job) -> None:
    say(f"started {os.getpid()}")
    status = 1
    faulthandler.dump_traceback_later(100, exit=True)  # a worker that hangs is a failure, not a wait
    bugs = Bugs(logging.ERROR)
    logging.getLogger().addHandler(bugs)
    try:
        if job.home:
            os.environ["HOME"] = job.home
        root = Path(job.root)
        power, time = Power(job.crash, job.how, root.with_name(f"stash-{root.name}")), Time()
        if not job.real_time:
            time.begin()
        life = Life(job, power, time)
        (OPERATIONS | {"machine": serve})[job.op](life)
        life.close()
        say(f"steps {power.count}")
        status = 1 if bugs.seen else 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)


class Bugs(logging.Handler):
    """What the store logs as an error is a bug of ours."""

    seen = False

    def emit(self, record: logging.LogRecord) -> None:
        self.seen = True
        sys.stderr.write(logging.Formatter().format(record) + "\n")


if __name__ == "__main__":
    main()
