"""The process that the torture tests stop: it forks a worker for each life, which says what was acknowledged.

Started once and before any thread: a fork costs milliseconds where an interpreter costs half a second."""

from __future__ import annotations

import faulthandler
import gc
import importlib
import json
import logging
import os
import pkgutil
import sys
import traceback
from pathlib import Path

from dagentd import formats, jobs, model, store
from dagentd.adapters import tokens
from tests.torture.explorer_operations import OPERATIONS, Life
from tests.torture.explorer_power import Power
from tests.torture.explorer_time import Time
from tests.torture.explorer_wire import Job, listen, say
from tests.torture.machine_daemon import serve
from tests.warm import build_models


def main() -> None:
    _load()
    gc.freeze()  # or collecting would copy what all workers share
    while line := listen():
        job = Job(**json.loads(line))
        pid = os.fork()
        if pid == 0:
            _work(job)
        _, status = os.waitpid(pid, 0)
        say(f"ended {os.waitstatus_to_exitcode(status)}")


def _load() -> None:
    """What is loaded and built now, no worker loads and builds: that was half of what each life cost."""
    importlib.import_module("pygit2")
    tokens.count("the vocabulary")
    for part in (formats, jobs, model, store):
        for found in pkgutil.walk_packages(part.__path__, f"{part.__name__}."):
            importlib.import_module(found.name)
    build_models()


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
        say(f"steps {' '.join(power.steps)}")
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
