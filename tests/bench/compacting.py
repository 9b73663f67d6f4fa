"""Compaction: how well a successor can work from what `local` writes, and what it costs to know how full a session is.

The conversations are real ones that lie beside the project, where they are; none of it is part of the project."""

from __future__ import annotations

import importlib.util
import json
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from dagentd.jobs.compaction import Compactor, How
from dagentd.jobs.scales import Scales
from dagentd.model.compaction import local
from dagentd.model.compaction.items import Record
from dagentd.model.compaction.turns import turn
from dagentd.settings import Settings
from dagentd.store.ledger import Ledger
from tests.bench.report import Report
from tests.bench.sessions import TEXT, filled, new_store

ROUNDS = (1, 5)
_PLACE = "shared/data/transcripts"

Score = Callable[[str, dict[str, Any]], dict[str, Any]]


def measure(folder: Path, report: Report) -> None:
    _time(report)
    if (place := _transcripts()) is not None:
        score: Score = _loaded(place / "score.py").score
        for rounds in ROUNDS:
            _score(folder, report, place, score, rounds)
    _budget(folder / "budget", report)


def _time(report: Report) -> None:
    """Of `local` alone, for 1,000 messages of 1 KB."""
    report.heading("1,000 messages of 1 KB by `local`, CPU time")
    words = "We looked at the parser and changed how it reads the header of a file, which is faster. " * 11
    order = "Never call table{0} from thread{1} of module{0}, always use queue{1}. "
    orders = ["".join(order.format(13 * at + part, part) for part in range(14)) for at in range(1000)]
    plain = [f"Please change part {at}. {words}" for at in range(1000)]
    for name, said in (("a user's sentences are plain", plain), ("each of them is an order", orders)):
        for who, roles in (("two speakers", ("user", "assistant")), ("users only", ("user", "user"))):
            raws = [{"role": roles[at % 2], "content": text} for at, text in enumerate(said)]
            report.at_most(f"{name}, {who}", 1000 * _by_local(raws), 300, "ms")
    report.at_most("calls of tools", 1000 * _by_local([raw for at in range(500) for raw in _call(at)]), 300, "ms")


def _call(at: int) -> list[dict[str, Any]]:
    given = {"type": "tool_use", "id": f"t{at}", "name": "Bash", "input": {"command": f"pytest tests/test_{at}.py"}}
    result = {"type": "tool_result", "tool_use_id": f"t{at}", "content": "a line of output\n" * 58 + "1 passed"}
    return [{"role": "assistant", "content": [given]}, {"role": "user", "content": [result]}]


def _transcripts() -> Path | None:
    found = (parent / _PLACE for parent in Path(__file__).resolve().parents)
    return next((place for place in found if (place / "score.py").exists()), None)


def _loaded(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("score", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _score(folder: Path, report: Report, place: Path, score: Score, rounds: int) -> None:
    """By rules, with nothing left in chat; floors, not aims: conversations that are not there judge."""
    open_ones = list[float]()
    for path in sorted(place.glob("*.json")):
        messages = json.loads(path.read_text(encoding="utf-8"))
        checkpoint, seconds = _compacted(folder / f"{path.stem}{rounds}", messages, rounds)
        found = score(path.stem, checkpoint)
        report.heading(f"{path.stem}: {len(messages)} messages in {rounds} round{'s' if rounds > 1 else ''}")
        report.at_least("recall", 100 * found["recall"], 85, "%")
        report.figure("  by kind", ", ".join(f"{kind} {100 * share:.0f}" for kind, share in found["kinds"].items()))
        report.figure("traps", f"{found['traps']} of {found['traps_of']}")
        report.at_most("noise among the items", 100 * found["noise"], 15, "%")
        report.figure("size", f"{found['tokens']} tokens in {found['items']} items")
        report.at_least("steer", 100 * found["steer"], 65, "")
        report.figure("time for 1,000 messages, with redaction and counting", f"{1e6 * seconds / len(messages):.0f} ms")
        report.figure("  of these by `local` itself", f"{1e6 * _by_local(messages) / len(messages):.0f} ms")
        facts = json.loads((place / "facts" / path.name).read_text(encoding="utf-8"))["facts"]
        open_ones += [found["facts"][fact["id"]] for fact in facts if fact["kind"] == "open"]
    report.heading(f"All in {rounds} round{'s' if rounds > 1 else ''}")
    report.at_least("recall of what is open", 100 * statistics.mean(open_ones), 85, "%")


def _by_local(messages: list[dict[str, Any]]) -> float:
    turns = [turn({**raw, "id": f"m{at}"}) for at, raw in enumerate(messages)]
    begin = time.thread_time()
    local.compacted(Record(), turns, 8000, lambda text: len(text) // 4, "")
    return time.thread_time() - begin


def _compacted(folder: Path, messages: list[dict[str, Any]], rounds: int) -> tuple[dict[str, Any], float]:
    """The checkpoint, and the CPU time that it took."""
    settings = Settings()
    settings = replace(settings, compaction=replace(settings.compaction, keep_recent_tokens=0))
    compactor, seconds, size = Compactor(Ledger(None)), 0.0, -(-len(messages) // rounds)
    with _session(folder) as session:
        for at in range(0, len(messages), size):
            session.add(messages[at : at + size])
            begin = time.thread_time()
            compactor.compact(session, settings, How(seconds=0, forced=True))
            seconds += time.thread_time() - begin
        return session.checkpoint(), seconds


@contextmanager
def _session(folder: Path) -> Iterator[Any]:
    folder.mkdir(parents=True)
    store = new_store(folder, 1)
    try:
        yield store.maker.get_or_create("feature", "pm", "f0")
    finally:
        store.close()


def _budget(folder: Path, report: Report) -> None:
    report.heading("Knowing how full a session is, after one more message")
    folder.mkdir()
    store, settings, taken = new_store(folder, 2), Settings(), []
    for feature, length in (("f0", 100), ("f1", 20_000)):
        session, scales = filled(store, feature, length), Scales()
        scales.parts(session, settings)

        def weigh(session: Any = session, scales: Scales = scales) -> float:
            session.add([{"role": "user", "content": f"{time.monotonic_ns()} {TEXT}"}])
            start = time.thread_time()  # others write the chat meanwhile
            scales.parts(session, settings)
            return (time.thread_time() - start) * 1000

        taken.append(statistics.median(weigh() for _ in range(200)))
        report.figure(f"with {length} messages", f"{taken[-1]:.3f} ms")
    report.ratio("20 000 messages beside 100", taken[1], taken[0], 2)
    store.close()
