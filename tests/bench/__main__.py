"""`make bench`: run every measurement, or `python -m tests.bench PART...` some; exit 1 if an aim is missed."""

from __future__ import annotations

import os
import sys
import tempfile
from importlib import import_module
from pathlib import Path

from tests.bench.report import Report

PARTS = (
    "appending",
    "opening",
    "searching",
    "starting",
    "socket",
    "requesting",
    "overviewing",
    "watching",
    "worktrees",
    "freshness",
    "contexts",
    "hooks",
    "migrating",
    "agx",
    "compacting",
    "following",
    "resting",
)


def main(wanted: list[str]) -> int:
    report = Report()
    # Beside the source and not in /tmp, which may be in memory and then syncs for nothing.
    with tempfile.TemporaryDirectory(prefix=".bench-", dir=Path(__file__).parents[2]) as name:
        os.environ |= {"HOME": name, "XDG_STATE_HOME": f"{name}/state", "XDG_CONFIG_HOME": f"{name}/config"}
        # As installed: the first run of a command leaves its bytecode for the others, whatever the developer prefers.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = f"{name}/bytecode"
        for part in wanted or PARTS:
            import_module(f"tests.bench.{part}").measure(Path(name), report)
    if report.missed:
        sys.stdout.write("\nmissed: " + "; ".join(report.missed) + "\n")
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
