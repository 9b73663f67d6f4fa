"""`make torture`: the chaos run, then the state machine, the crash explorer and faults, for as long as one likes; and
once all tests of which `make test` takes a share only, or none because they take long, or that do more here."""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
from pathlib import Path

from tests.torture import chaos, picture
from tests.torture.chaos.outcome import Outcome
from tests.torture.chaos.table import table

HERE = Path(__file__).parent
_TAKEN = "long or turns or more or hypothesis"


def main(arguments: list[str]) -> int:
    given = _parsed(arguments)
    sys.stdout.write(f"seed {given.seed}; the same again: make torture MINUTES={given.minutes} SEED={given.seed}\n")
    sys.stdout.flush()
    outcome = chaos.run(given.seed, rounds=given.minutes)
    target = given.picture or HERE.parents[1] / ".torture" / f"chaos-{given.seed}.svg"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(picture.svg(outcome.samples, f"dagentd in chaos for {given.minutes} min, seed {given.seed}"))
    sys.stdout.write(f"{table(outcome)}picture: {target}\n")
    if outcome.complaints:
        sys.stdout.write(f"the daemon's log: {_logged(outcome, target.with_suffix('.log'))}\n")
    sys.stdout.flush()
    others = 0 if given.chaos_only else _others(given.minutes, given.seed)
    return 1 if outcome.complaints or others else 0


def _logged(outcome: Outcome, target: Path) -> Path:
    target.write_text(outcome.log, errors="backslashreplace")
    return target


def _parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--minutes", type=int, default=1, help="of load; then calm, and as long for each other part")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--picture", type=Path, help="where it goes; .torture/chaos-SEED.svg")
    parser.add_argument("--chaos-only", action="store_true", help="none of the other parts")
    return parser.parse_args(arguments)


def _others(minutes: int, seed: int) -> int:
    """By pytest, which they are tests for, on all processors; one may take as long as it was told to, and some more."""
    longer = {"TORTURE_MINUTES": str(minutes), "TORTURE_SEED": str(seed)}
    line = [sys.executable, "-m", "pytest", "--timeout", str(minutes * 60 * 3 + 600), "-m", _TAKEN]
    beside = ["--numprocesses", str((os.cpu_count() or 1) + 1), "--dist", "worksteal", "--durations", "12"]
    return subprocess.run([*line, *beside, str(HERE.parent)], env=os.environ | longer).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
