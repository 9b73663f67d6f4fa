"""`make bench`: run every measurement; exit 1 if an aim is missed."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from tests.bench import appending, opening, searching, socket, starting, watching
from tests.bench.report import Report


def main() -> int:
    report = Report()
    # Beside the source and not in /tmp, which may be in memory and then syncs for nothing.
    with tempfile.TemporaryDirectory(prefix=".bench-", dir=Path(__file__).parents[2]) as name:
        os.environ |= {"HOME": name, "XDG_STATE_HOME": f"{name}/state", "XDG_CONFIG_HOME": f"{name}/config"}
        for part in (appending, opening, searching, starting, socket, watching):
            part.measure(Path(name), report)
    if report.missed:
        sys.stdout.write("\nmissed: " + "; ".join(report.missed) + "\n")
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main())
