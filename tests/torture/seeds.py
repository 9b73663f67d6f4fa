"""What the dice start from: drawn anew each time, and printed, so that TORTURE_SEED makes it the same again. And
whether there is time for everything."""

from __future__ import annotations

import os
import random
import sys

THOROUGH = "TORTURE_MINUTES" in os.environ  # `make torture`


def drawn() -> int:
    """pytest shows what was printed if the test fails, also for taking too long."""
    chosen = int(os.environ.get("TORTURE_SEED") or random.SystemRandom().randrange(1 << 32))
    sys.stdout.write(f"TORTURE_SEED={chosen}\n")
    return chosen
