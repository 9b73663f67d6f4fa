"""The AGX index of 1 000 projects with 5 sessions each: one change, a check, and all of it made anew."""

from __future__ import annotations

import json
import shutil
import statistics
import time
from pathlib import Path

from dagentd import paths
from dagentd.adapters import clock
from dagentd.agents.resumable import Resumable
from dagentd.agx.agx import Agx
from dagentd.agx.configuration import Config
from dagentd.agx.session_document import Git, new
from dagentd.agx.values import changed
from dagentd.settings import Settings
from tests.bench.limits import median_ms, replace_durably
from tests.bench.report import Report

PROJECTS, SESSIONS, ROUNDS = 1000, 5, 15
UPDATE, REBUILD = 50.0, 5.0  # ms of own work, s


def measure(folder: Path, report: Report) -> None:
    report.heading(f"The AGX index of {PROJECTS} projects with {SESSIONS} sessions each")
    roots = _projects(folder / "agx")
    agx = Agx(lambda: Settings().agx, lambda: roots, lambda: Resumable(list))
    begin, worked = time.perf_counter(), time.thread_time()
    agx.index(rebuild=True)
    report.at_most("full rebuild, no git asked, own work", time.thread_time() - worked, REBUILD, "s")
    report.figure("  until it was there", f"{time.perf_counter() - begin:.2f} s")
    index = paths.agx_index_file()
    assert len(json.loads(index.read_bytes())["sessions"]) == PROJECTS * SESSIONS
    report.figure("  reading and parsing the session files alone", f"{_parsing(roots):.2f} s")
    _one_change(agx, roots, index, report)
    report.figure("check of all of them when nothing changed", f"{median_ms(agx.check_index, ROUNDS):.0f} ms")
    again = Agx(lambda: Settings().agx, lambda: roots, lambda: Resumable(list))
    report.figure("one change by another process, which reads it first", f"{_once(again, roots[3], 59)[1]:.0f} ms")
    report.figure("size of the index", f"{index.stat().st_size / 1e6:.1f} MB")
    shutil.rmtree(paths.agx_dir())


def _one_change(agx: Agx, roots: list[Path], index: Path, report: Report) -> None:
    taken = [_once(agx, roots[number], number) for number in range(ROUNDS)]
    data = index.read_bytes()
    own, wall = (statistics.median(some) for some in zip(*taken, strict=True))
    report.at_most("update after one change, own work, p50", own, UPDATE, "ms")
    report.figure("  longest", f"{max(one for one, _ in taken):.1f} ms")
    floor = median_ms(lambda: replace_durably(index.with_suffix(".copy"), data), ROUNDS)
    report.figure("  with waiting for the disk, p50", f"{wall:.0f} ms")
    report.figure("  writing the same bytes durably and nothing else, p50", f"{floor:.0f} ms")


def _once(agx: Agx, root: Path, number: int) -> tuple[float, float]:
    """In ms: our own work as the kernel counts it, whoever else uses the machine; and until it was done."""
    path = root / ".agx" / "sessions" / "s2.json"
    raw = changed(json.loads(path.read_bytes()), lastAccessed=f"2026-05-01T00:00:{number:02}Z")
    path.with_suffix(".new").write_text(json.dumps(raw))
    path.with_suffix(".new").rename(path)
    begin, worked = time.perf_counter(), time.thread_time()
    agx.updated([root])
    return (time.thread_time() - worked) * 1000, (time.perf_counter() - begin) * 1000


def _projects(folder: Path) -> list[Path]:
    roots = [folder / f"p{number:04}" for number in range(PROJECTS)]
    for root in roots:
        sessions = root / ".agx" / "sessions"
        sessions.mkdir(parents=True)
        for number in range(SESSIONS):
            raw = new(f"s{number}", root, Config(), f"s{number}", Git(f"s{number}", "a" * 40), clock.now())
            (sessions / f"s{number}.json").write_text(json.dumps(raw, indent=2))
    return roots


def _parsing(roots: list[Path]) -> float:
    begin = time.perf_counter()
    for root in roots:
        for path in (root / ".agx" / "sessions").glob("*.json"):
            json.loads(path.read_bytes())
    return time.perf_counter() - begin
