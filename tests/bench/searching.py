"""Searching 50 000 messages of 1 KiB: what the index costs, on disk and in time, and how soon a query is answered."""

from __future__ import annotations

import statistics
import sys
import sysconfig
import threading
import time
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

from dagentd.jobs.full_text_search import by_index
from dagentd.store.store import Store
from tests.bench.limits import median_ms
from tests.bench.report import Report
from tests.bench.sessions import new_store

COUNT = 50_000
QUERIES = ("login", "json decoder", '"the number of"', "getLogger", "os.path.join", "sub", "登录", "return self")


def measure(folder: Path, report: Report) -> None:
    report.heading("Searching 50 000 messages of 1 KiB")
    sys.setswitchinterval(0.0005)  # as the daemon does
    place = folder / "searching"
    place.mkdir()
    store = new_store(place, 2)
    _fill(store)
    assert store.search_file is not None
    _first(store, report)
    journal = store.catalogue.find("pm-feature-f0").journal
    report.figure("journal", f"{journal.stat().st_size / 1e6:.0f} MB")
    report.figure("index", f"{store.search_file.stat().st_size / 1e6:.0f} MB")
    _queries(store, report)
    store.close()


def _first(store: Store, report: Report) -> None:
    """Beside it, somebody else adds messages to a short session and searches that."""
    short = store.maker.get_or_create("feature", "pm", "f1")
    start, used = time.perf_counter(), time.process_time()
    first = threading.Thread(target=by_index, args=([store], "walrus", None, 20))
    taken: dict[str, list[float]] = {"adding": [], "searching": []}
    first.start()
    while first.is_alive():
        taken["adding"].append(median_ms(lambda: short.add([{"role": "user", "content": "one otter"}]), 1))
        taken["searching"].append(median_ms(lambda: by_index([store], "otter", "pm-feature-f1", 20), 1))
    report.figure("the first search, which indexes everything", f"{time.perf_counter() - start:.1f} s")
    report.figure("  processor time of it and of what went on beside", f"{time.process_time() - used:.1f} s")
    for what, times in taken.items():
        report.at_most(f"  {what} in another session meanwhile, median", statistics.median(times), 50, "ms")
        report.at_most("    p95", statistics.quantiles(times, n=20)[18], 250, "ms")
        report.figure("    longest", f"{max(times):.1f} ms")


def _fill(store: Store) -> None:
    session = store.maker.get_or_create("feature", "pm", "f0")
    contents = _contents()
    for _ in range(COUNT // 1000):
        session.add([{"role": "user", "content": content} for content in islice(contents, 1000)])


def _contents() -> Iterator[str]:
    """Code and prose: Python's own library, in pieces."""
    library = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    for path in cycle(library):
        text = path.read_text(encoding="utf-8", errors="replace")
        yield from (text[start : start + 1024] for start in range(0, len(text) - 1023, 1024))


def _queries(store: Store, report: Report) -> None:
    session = store.session("pm-feature-f0")
    taken = {query: median_ms(lambda query=query: by_index([store], query, None, 20), 7) for query in QUERIES}  # type: ignore[misc]
    report.figure("query, median of all", f"{statistics.median(taken.values()):.1f} ms")
    report.figure("  the slowest, whose words are nearly everywhere", f"{max(taken.values()):.1f} ms")

    def after_one_more() -> None:
        session.add([{"role": "user", "content": "one more walrus"}])
        by_index([store], "walrus", None, 20)

    report.at_most("add a message and find it", median_ms(after_one_more, 9), 20, "ms")
    scanned = median_ms(lambda: by_index([store], "\u2620", None, 20), 1)
    report.figure("query without a word, which reads all journals", f"{scanned / 1000:.1f} s")
