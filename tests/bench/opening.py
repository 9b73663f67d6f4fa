"""Opening a long session: what is current on disk is not read from the journal."""

from __future__ import annotations

import os
import time
from pathlib import Path

from tests.bench.report import Report
from tests.bench.sessions import filled, new_store


def measure(folder: Path, report: Report) -> None:
    report.heading("Opening a session of 50 000 messages")
    store = new_store(folder, 3)
    journal = filled(store, "f2", 50_000).folder.journal
    store.close()
    store = new_store(folder, 3)
    read, original = 0, os.pread

    def counting(fd: int, count: int, offset: int) -> bytes:
        nonlocal read
        data = original(fd, count, offset)
        read += len(data) if os.path.samestat(os.fstat(fd), journal.stat()) else 0
        return data

    os.pread = counting
    start = time.perf_counter()
    session = store.session("pm-feature-f2")
    taken = time.perf_counter() - start
    os.pread = original
    report.figure("time", f"{taken * 1000:.0f} ms")
    report.at_most("of its journal read", 100 * read / journal.stat().st_size, 1, "%")
    start = time.perf_counter()
    session.history(limit=100)
    report.figure("a page of its history", f"{(time.perf_counter() - start) * 1000:.1f} ms")
    store.close()
