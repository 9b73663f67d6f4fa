"""Durable appends: one writer and many, to short and to very long sessions, and how soon chat follows."""

from __future__ import annotations

import itertools
import statistics
import threading
import time
from pathlib import Path

from dagentd.adapters.files import disk
from dagentd.store.sessions.session import Session
from tests.bench.limits import RawLog, median_ms, replace_durably, write_plainly
from tests.bench.report import Report
from tests.bench.sessions import TEXT, filled, new_store

LENGTHS = {"f0": 10, "f1": 1000, "f2": 50_000}


def measure(folder: Path, report: Report) -> None:
    store = new_store(folder, len(LENGTHS))
    raw = RawLog(folder / "raw.log")
    sessions = {length: filled(store, feature, length) for feature, length in LENGTHS.items()}
    _settle(list(sessions.values()))
    report.heading("Durable append of a 1 KiB message")
    replacing = median_ms(lambda: replace_durably(folder / "r", b"x" * 1180), 100)
    report.figure("raw temp + fsync + rename + folder fsync, 1.1 KB", f"{replacing:.3f} ms")
    single = _one_writer(sessions, raw, report)
    for length, session in sessions.items():
        _many_writers(session, length, single[length], report)
    _chat_follows(folder, sessions, report)
    raw.close()
    store.close()


def _settle(sessions: list[Session]) -> None:
    """Let the writing that filling caused end, so that it is not measured."""
    for session in sessions:
        while session.tend(time.monotonic()) is not None:
            time.sleep(0.05)


def _add(session: Session) -> None:
    session.add([{"role": "user", "content": TEXT}])


def _one_writer(sessions: dict[int, Session], raw: RawLog, report: Report) -> dict[int, float]:
    """In turns, so that a slow moment of the machine falls on all of them."""
    taken: dict[int, list[float]] = {length: [] for length in sessions}
    limit = []
    for _ in range(40):
        limit.append(median_ms(raw.append, 10))
        for length, session in sessions.items():
            taken[length].append(median_ms(lambda session=session: _add(session), 10))  # type: ignore[misc]
    floor = statistics.median(limit)
    report.figure("raw append + fdatasync", f"{floor:.3f} ms")
    medians = {length: statistics.median(times) for length, times in taken.items()}
    for length, median in medians.items():
        report.ratio(f"1 writer, session of {length} messages, against raw", median, floor, 2)
    report.ratio("50 000 messages against 10", medians[50_000], medians[10], 1.2)
    return medians


def _many_writers(session: Session, length: int, single: float, report: Report) -> None:
    for writers in (16, 64):
        each = 1600 // writers
        syncs = _counted_syncs(session, writers, each)
        rate, count = syncs
        report.figure(f"{writers} writers, session of {length} messages", f"{rate:.0f} /s")
        if writers == 64:
            report.at_least("  messages per fdatasync", writers * each / count, 8, "")
            report.at_least("  against one writer's rate", rate / (1000 / single), 2, "x")


def _counted_syncs(session: Session, writers: int, each: int) -> tuple[float, int]:
    count, original = 0, disk.sync_data

    def counting(fd: int, path: Path) -> None:
        nonlocal count
        count += 1
        original(fd, path)

    def write() -> None:
        for _ in range(each):
            _add(session)

    disk.sync_data = counting
    threads = [threading.Thread(target=write) for _ in range(writers)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    disk.sync_data = original
    return writers * each / (time.perf_counter() - start), count


def _chat_follows(folder: Path, sessions: dict[int, Session], report: Report) -> None:
    report.heading("Chat behind the journal")
    for length, session in sessions.items():
        _settle([session])
        path = session.folder.document("chat")
        writing = median_ms(lambda path=path: write_plainly(folder / "chat", path.read_bytes()), 3)  # type: ignore[misc]
        gaps = _gaps(session, path)
        report.figure(f"writing a chat of {length} messages plainly", f"{writing:.1f} ms")
        name = f"median lag in 3 s of appends, {length} messages"
        # 100 ms, or for a very long chat ten times what writing it takes; and one turn of the loop that looks.
        report.at_most(name, statistics.median(gaps) * 1000, max(120 + writing, 10 * writing), "ms")
        report.figure("  longest", f"{max(gaps) * 1000:.0f} ms")
        report.figure("  writes of it in that time", str(len(gaps)))


def _gaps(session: Session, path: Path) -> list[float]:
    """Append for three seconds; the times between two chats, which is how long a message waits at the most."""
    seen: list[float] = []
    inode, end = path.stat().st_ino, time.monotonic() + 3
    while time.monotonic() < end:
        _add(session)
        time.sleep(0.005)
        if (now := path.stat().st_ino) != inode:
            inode = now
            seen.append(time.monotonic())
    return [later - earlier for earlier, later in itertools.pairwise(seen)] or [3.0]
