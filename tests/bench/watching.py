"""Watching 300 worktrees: memory, start, what idling costs, how soon a write is told, and what a storm leaves."""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from dagentd.adapters.watch import Watch
from tests.adapters.watch.churning import churn
from tests.bench.report import Report

WORKTREES, FOLDERS = 300, 15
SETTLE, CEILING = 0.1, 1.0  # as in the settings
CHURN = 20.0  # seconds
BURST = 60_000


def measure(folder: Path, report: Report) -> None:
    report.heading(f"Watching {WORKTREES} worktrees of {FOLDERS} folders each")
    place = folder / "watching"
    folders = [place / f"worktree-{tree}" / ".dagent" / f"sub-{n}" for tree in range(WORKTREES) for n in range(FOLDERS)]
    for each in folders:
        each.mkdir(parents=True)
    done = subprocess.run([sys.executable, "-m", __name__, place], check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    report.figure("start: all followed", f"{found['start'] * 1000:.0f} ms")
    report.figure("the same ones followed again", f"{found['again'] * 1000:.1f} ms")
    report.figure("threads", str(found["threads"]))
    report.at_most("memory per watch", found["memory"] / len(folders), 40, "KB")
    report.at_most("memory after 30 rounds of work, to that after 5", found["growth"], 1.05, "x")  # it varies by 2 %
    report.at_most("processor time of a minute of checks", found["idle"], 0.1, "s")
    report.figure("write to batch, median, without the settle time", f"{found['latency'] * 1000:.1f} ms")
    report.figure("  the slowest of 50", f"{found['slowest'] * 1000:.1f} ms")
    report.at_most(f"seen again after {CHURN:.0f} s of folders made, moved, removed", found["churn"], 10, "s")
    report.at_most(f"seen again after {BURST} files", found["burst"], 10, "s")
    report.figure("  what went wrong meanwhile", found["incidents"] or "nothing")
    shutil.rmtree(place)


def _child(place: Path) -> dict[str, Any]:
    folders = sorted(place.glob("*/.dagent/*"))
    watch = Watch(place / "cookie", settle=SETTLE, ceiling=CEILING)
    before, start = _resident(), time.perf_counter()
    watch.follow(folders)
    found: dict[str, Any] = {"start": time.perf_counter() - start}
    found["memory"] = _resident() - before
    found["again"] = _timed(lambda: watch.follow(folders))
    found["threads"] = threading.active_count() - 1
    _drain(watch)
    found["idle"] = _idle(watch)
    found["growth"] = _growth(watch, folders)
    taken = sorted(_until_told(watch, folders[n * 7] / "file") - SETTLE for n in range(50))
    found |= {"latency": statistics.median(taken), "slowest": taken[-1]}
    with churn(folders[:FOLDERS], processes=4, seconds=CHURN) as runs:
        while runs():
            watch.batch(0.1)
            watch.check()
    found["churn"] = _until_told(watch, folders[0] / "after")
    for number in range(BURST):
        (folders[1] / str(number)).touch()
    found["burst"] = _until_told(watch, folders[0] / "after that")
    found["incidents"] = "; ".join(incident.message for incident in watch.status().incidents)
    watch.close()
    return found


def _growth(watch: Watch, folders: list[Path]) -> float:
    """Worktrees come and go, files are written, folders are made again."""
    sizes = []
    for _ in range(30):
        watch.follow(folders[: len(folders) // 2])
        watch.follow(folders)
        for folder in folders[::10]:
            (folder / "file").write_text("x")
            (folder / "file").unlink()
            folder.rmdir()
            folder.mkdir()
        _drain(watch)
        watch.check()
        sizes.append(_resident())
    return sizes[-1] / sizes[4]


def _idle(watch: Watch) -> float:
    """Every five seconds, as the daemon's heart beats."""
    start = time.process_time()
    for _ in range(12):
        watch.check()
        watch.batch(0.05)
    return time.process_time() - start


def _until_told(watch: Watch, path: Path) -> float:
    """A folder that was removed may have to be made again; what came before is taken first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    path.write_text("x")
    while (batch := watch.batch(1)) is None or not (path in batch.paths or path.parent in batch.folders or batch.lost):
        watch.check()
    return time.perf_counter() - start


def _drain(watch: Watch) -> None:
    while watch.batch(0.3):
        pass


def _timed(action: Any) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def _resident() -> int:
    """In KB."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_child(Path(sys.argv[1]))))
