"""Migrating a legacy chat: durable and verified, against reading, parsing and writing the same bytes once."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import threading
import time
from pathlib import Path

from dagentd.adapters.git import project_at
from dagentd.jobs import migration
from dagentd.settings import Settings
from dagentd.store.index import Index
from dagentd.store.store import Store
from tests.bench.report import Report
from tests.bench.sessions import TEXT

ROUNDS = 5


def measure(folder: Path, report: Report) -> None:
    report.heading("Migrating a legacy chat of 1 KiB entries")
    times = {length: _rounds(folder, length, report) for length in (100, 5000, 50_000)}
    took, floor = times[5000]
    report.ratio("5 000 entries, durable and verified", took, floor, 15)
    each = {length: taken / length for length, (taken, _) in times.items()}
    report.ratio("an entry of 50 000 against one of 5 000", each[50_000], each[5000], 2)
    report.figure("an entry of 100 (with what a session costs)", f"{each[100]:.3f} ms")
    _beside(folder, report)


def _rounds(folder: Path, length: int, report: Report) -> tuple[float, float]:
    """Both in turns, so that a slow moment of the machine falls on both; the medians in ms."""
    taken, floors = [], []
    for number in range(ROUNDS if length < 50_000 else 1):
        root = _project(folder / f"legacy-{length}-{number}", [length])
        chat = root / ".dagent-worktrees" / "f0" / ".dagent" / "chat.json"
        floors.append(_floor(chat, folder / "floor"))
        taken.append(_migrate(root))
    report.figure(f"{length} entries", f"{statistics.median(taken):.0f} ms")
    report.figure("  reading, parsing, writing with fsync", f"{statistics.median(floors):.1f} ms")
    return statistics.median(taken), statistics.median(floors)


def _project(root: Path, lengths: list[int], tasks: int = 0) -> Path:
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    for number, length in enumerate(lengths):
        tree = root / ".dagent-worktrees" / f"f{number}" / ".dagent"
        tree.mkdir(parents=True)
        (tree / "feature.json").write_text(f'{{"id": "f{number}"}}')
        stamps = [f"2026-01-15T{n // 3600 % 24:02}:{n // 60 % 60:02}:{n % 60:02}.000Z" for n in range(length)]
        entries = [{"type": "user", "text": f"{n}: {TEXT}", "timestamp": stamp} for n, stamp in enumerate(stamps)]
        (tree / "chat.json").write_text(json.dumps({"entries": entries}))
        for task in range(tasks):
            (tree / "nodes" / f"t{task}").mkdir(parents=True)
            said = [{"direction": "outgoing", "type": "progress", "content": TEXT, "timestamp": 1768471200000}] * 20
            (tree / "nodes" / f"t{task}" / "session.json").write_text(json.dumps({"messages": said}))
    return root


def _floor(chat: Path, target: Path) -> float:
    start = time.perf_counter()
    data = chat.read_bytes()
    json.loads(data)
    fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.write(fd, data)
    os.fsync(fd)
    os.close(fd)
    return (time.perf_counter() - start) * 1000


def _migrate(root: Path) -> float:
    store = Store(project_at(root), Index(None))
    start = time.perf_counter()
    done = [file for each in store.features() for file in migration.run(store, each, Settings())]
    taken = (time.perf_counter() - start) * 1000
    assert {file.action for file in done} == {"create"}
    store.close()
    return taken


def _beside(folder: Path, report: Report) -> None:
    """How long others wait for an append while a chat of 5 000 and 200 tasks are migrated."""
    store = Store(project_at(_project(folder / "legacy-beside", [5000], 200)), Index(None))
    other = folder / "legacy-beside" / ".dagent-worktrees" / "other" / ".dagent"
    other.mkdir(parents=True)
    (other / "feature.json").write_text('{"id": "other"}')
    session = store.get_or_create("feature", "pm", "other")
    alone, beside = _appends(store, session.id, 200), []
    feature = store.feature("f0")
    work = threading.Thread(target=migration.run, args=(store, feature, Settings()))
    start = time.perf_counter()
    work.start()
    while work.is_alive():
        beside += _appends(store, session.id, 10)
    report.figure("5 000 entries and 200 task sessions", f"{time.perf_counter() - start:.1f} s")
    report.figure("an append to another session meanwhile, median", f"{statistics.median(beside):.2f} ms")
    report.figure("  alone", f"{statistics.median(alone):.2f} ms")
    report.figure("  longest", f"{max(beside):.0f} ms")
    store.close()


def _appends(store: Store, session_id: str, count: int) -> list[float]:
    taken = []
    for _ in range(count):
        start = time.perf_counter()
        with store.using(session_id) as session:
            session.add([{"role": "user", "content": "x"}])
        taken.append((time.perf_counter() - start) * 1000)
    return taken
