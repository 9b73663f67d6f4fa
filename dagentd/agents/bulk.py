"""The process that takes in what is much: told where and of which projects, it says how far it is, a line each time."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import Any

from dagentd.agents.followed import Followed
from dagentd.agents.intake import Progress, take_everything
from dagentd.model.project import Project, Registered
from dagentd.settings.tables import Agents

_NICE = 19


def give_way() -> None:
    """Whoever works on this machine comes first. By its `nice` alone a process keeps the processor for milliseconds
    when a thread of the daemon wakes, which then waits that long to answer; an idle one gives it away at once."""
    with contextlib.suppress(OSError):  # a sandbox may refuse it
        os.nice(_NICE)
        if sys.platform == "linux":
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def arguments(state: Path, settings: Agents, projects: list[Registered]) -> dict[str, Any]:
    return {"state": str(state), "settings": vars(settings), "projects": [each.raw() for each in projects]}


def main() -> int:
    given = json.loads(sys.argv[1])
    give_way()
    held: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in given["settings"].items()
    }
    settings = Agents(**held)
    projects = [Registered(each["id"], Project(Path(each["root"]), Path(each["commonDir"])), each["addedAt"])
                for each in given["projects"]]  # fmt: skip
    followed = Followed(Path(given["state"]), lambda: settings, lambda: projects)
    try:
        take_everything(followed.following, followed.reading, _tell)
    finally:
        followed.close()
    return 0


def _tell(progress: Progress) -> None:
    sys.stdout.buffer.write(json.dumps(progress.raw()).encode() + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    raise SystemExit(main())
