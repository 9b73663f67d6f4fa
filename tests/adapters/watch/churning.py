"""Several processes that make, rename and remove folders and files, in and below given ones."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_CHURN = """
import contextlib, os, random, shutil, sys, time
end, folders = time.monotonic() + float(sys.argv[1]), sys.argv[2:]
def some():
    return os.path.join(random.choice(folders), f"f{random.randrange(12)}")
while time.monotonic() < end:
    with contextlib.suppress(OSError):
        act = random.randrange(5)
        if act == 0:
            os.makedirs(os.path.join(some(), "deep", "deeper"))
        elif act == 1:
            os.rename(some(), some())
        elif act == 2:
            shutil.rmtree(some())
        elif act == 3:
            os.rename(os.path.join(some(), "deep"), some())
        else:
            open(os.path.join(some(), "file"), "w").close()
"""


@contextmanager
def churn(folders: Sequence[Path], *, processes: int, seconds: float) -> Iterator[Callable[[], bool]]:
    """Gives a function that says whether it still goes on."""
    command = [sys.executable, "-c", _CHURN, str(seconds), *map(str, folders)]
    running = [subprocess.Popen(command) for _ in range(processes)]
    try:
        yield lambda: any(process.poll() is None for process in running)
    finally:
        for process in running:
            process.kill()
            process.wait()
