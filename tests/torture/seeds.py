"""The number that all dice of a run start from: drawn anew each time and told at its beginning; TORTURE_SEED makes it
the same again. And whether there is time for everything."""

from __future__ import annotations

import os
import random
import sys

THOROUGH = "TORTURE_MINUTES" in os.environ  # `make torture`


def of_the_run() -> int:
    """Every process that is started afterwards has it too."""
    return int(os.environ.setdefault("TORTURE_SEED", str(random.SystemRandom().randrange(1 << 32))))


def drawn() -> int:
    """pytest shows what was printed if the test fails, also for taking too long."""
    chosen = of_the_run()
    sys.stdout.write(f"TORTURE_SEED={chosen}\n")
    return chosen
