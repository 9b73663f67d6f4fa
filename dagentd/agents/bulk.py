"""The process that takes in what is much: told where and of which projects, it says how far it is, a line each time."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from dagentd.agents.followed import Followed
from dagentd.agents.intake import Progress, take_everything
from dagentd.model.project import Project, Registered
from dagentd.settings.tables import Agents

_NICE = 19  # whoever works on this machine comes first: at 10, threads of the daemon waited half as long again for it


def arguments(state: Path, settings: Agents, projects: list[Registered]) -> dict[str, Any]:
    return {"state": str(state), "settings": vars(settings), "projects": [each.raw() for each in projects]}


def main() -> int:
    given = json.loads(sys.argv[1])
    os.nice(_NICE)
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
