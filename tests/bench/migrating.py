"""Migrating legacy chats: durable and verified, against reading, parsing and writing the same bytes once; and how long
others wait meanwhile."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import threading
import time
from itertools import pairwise
from pathlib import Path

from dagentd.adapters.git import project_at
from dagentd.jobs import migration
from dagentd.rpc.client import Client
from dagentd.settings import Settings
from dagentd.store.journal.index import Index
from dagentd.store.store import Store
from tests.bench.report import Report
from tests.bench.served import serving
from tests.bench.sessions import TEXT

ROUNDS = {100: 15, 1000: 15, 5000: 11, 50_000: 3}  # by the number of entries
REPEATS = {100: 12, 1000: 12, 5000: 12, 50_000: 6}  # of the limit
OTHER = "pm-feature-other"


def measure(folder: Path, report: Report) -> None:
    report.heading("Migrating a legacy chat of 1 KiB entries")
    times = _best(folder, report)
    took, floor = times[5000]
    report.ratio("5 000 entries, durable and verified", took, floor, 15)
    _judge_growth({length: taken for length, (taken, _) in times.items()}, report)
    report.heading("Others while a chat of 5 000 entries and 200 task sessions are migrated")
    _beside(folder, report)


def _judge_growth(times: dict[int, float], report: Report) -> None:
    """What one more entry costs from each length to the next may not rise. That is without what a file costs whatever
    is in it, which would hide it in the short ones."""
    lengths = list(times)
    each = {more: (times[more] - times[few]) / (more - few) for few, more in pairwise(lengths)}
    report.figure("a file, whatever is in it", f"{times[100] - 100 * each[1000]:.1f} ms")
    for few, more in pairwise(lengths):
        report.figure(f"one more entry, from {few} to {more}", f"{each[more] * 1000:.1f} µs")
    report.ratio("one more entry on the way to 50 000, against before", each.pop(50_000), min(each.values()), 2)


def _best(folder: Path, report: Report) -> dict[int, tuple[float, float]]:
    """The best of each in ms, migration and limit in turns with all the others: whatever else the machine does can
    only make them slower."""
    taken: dict[int, list[tuple[float, float]]] = {length: [] for length in ROUNDS}
    for number in range(max(ROUNDS.values())):
        for length in (length for length, rounds in ROUNDS.items() if number < rounds):
            root = _project(folder / f"legacy-{length}-{number}", length)
            floor = _floor(_legacy_chat(root), root, REPEATS[length])
            taken[length].append((_migrate(root), floor))
            shutil.rmtree(root)
    best = {length: (min(took for took, _ in each), min(floor for _, floor in each)) for length, each in taken.items()}
    for length, (took, floor) in best.items():
        median = statistics.median(each[0] for each in taken[length])
        report.figure(f"{length} entries, best of {ROUNDS[length]} (median)", f"{took:.1f} ({median:.0f}) ms")
        report.figure("  reading, parsing, writing with fsync", f"{floor:.1f} ms")
    return best


def _project(root: Path, length: int, tasks: int = 0) -> Path:
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    chat = _legacy_chat(root)
    chat.parent.mkdir(parents=True)
    (chat.parent / "feature.json").write_text('{"id": "f0"}')
    stamps = [f"2026-01-15T{n // 3600 % 24:02}:{n // 60 % 60:02}:{n % 60:02}.000Z" for n in range(length)]
    entries = [{"type": "user", "text": f"{n}: {TEXT}", "timestamp": stamp} for n, stamp in enumerate(stamps)]
    chat.write_text(json.dumps({"entries": entries}))
    for task in range(tasks):
        node = chat.parent / "nodes" / f"t{task}"
        node.mkdir(parents=True)
        said = [{"direction": "outgoing", "type": "progress", "content": TEXT, "timestamp": 1768471200000}] * 20
        (node / "session.json").write_text(json.dumps({"messages": said}))
    return root


def _legacy_chat(root: Path) -> Path:
    return root / ".dagent-worktrees" / "f0" / ".dagent" / "chat.json"


def _floor(chat: Path, folder: Path, repeats: int) -> float:
    """The mean of some, to new files, as those are that a migration writes. Together they take as long as one: a single
    one finds a moment in which nobody else wants the processor."""
    start = time.perf_counter()
    for number in range(repeats):
        data = chat.read_bytes()
        json.loads(data)
        fd = os.open(folder / f"floor-{number}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        os.write(fd, data)
        os.fsync(fd)
        os.close(fd)
    return (time.perf_counter() - start) * 1000 / repeats


def _migrate(root: Path) -> float:
    store = Store(project_at(root), Index(None))
    start = time.perf_counter()
    done = [file for each in store.catalogue.features() for file in migration.run(store, each, Settings())]
    taken = (time.perf_counter() - start) * 1000
    assert {file.action for file in done} == {"create"}
    store.close()
    return taken


# --- beside others --------------------------------------------------------------------------------------------


def _beside(folder: Path, report: Report) -> None:
    """One after the other, to a session of another feature of the same project, through the real daemon."""
    root = _project(folder / "legacy-beside", 5000, tasks=200)
    (root / ".dagent").mkdir()
    (root / ".dagent" / "config.toml").write_text("[migration]\nenabled = false\n")  # until it is asked for
    other = root / ".dagent-worktrees" / "other" / ".dagent"
    other.mkdir(parents=True)
    (other / "feature.json").write_text('{"id": "other"}')
    with serving(root) as (client, *_):
        client.call("session.getOrCreate", project=str(root), type="feature", agentType="pm", featureId="other")
        _settled(client)
        idle = [_append(client) for _ in range(1000)]
        work = threading.Thread(target=client.call, args=("migration.run",), kwargs={"project": str(root)})
        start, beside = time.perf_counter(), []
        work.start()
        while work.is_alive():
            beside.append(_append(client))
        report.figure("the migration", f"{time.perf_counter() - start:.1f} s")
    for name, taken in (("idle", idle), ("meanwhile", beside)):
        median, p99, longest = _spread(taken)
        report.figure(f"an append, {name}: median, p99, longest", f"{median:.2f}, {p99:.1f}, {longest:.0f} ms")
    report.ratio("an append meanwhile, median, against idle", _spread(beside)[0], _spread(idle)[0], 5)
    report.ratio("  p99, against idle p99", _spread(beside)[1], _spread(idle)[1], 10)


def _settled(client: Client) -> None:
    """Nothing is to be done in a daemon that has just started."""
    while (queues := client.call("daemon.status")["queues"])["waiting"] or queues["running"]:
        time.sleep(0.1)


def _append(client: Client) -> float:
    start = time.perf_counter()
    client.call("session.addMessage", sessionId=OTHER, role="user", content="x")
    return (time.perf_counter() - start) * 1000


def _spread(taken: list[float]) -> tuple[float, float, float]:
    ordered = sorted(taken)
    return statistics.median(ordered), ordered[len(ordered) * 99 // 100], ordered[-1]
