"""Asking for a request, and for the last messages, of short and of long sessions: over the socket, as an agent does."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

from dagentd.model import jsontext
from dagentd.rpc import protocol
from tests.bench.limits import median_ms
from tests.bench.lines import Line
from tests.bench.report import Report
from tests.bench.served import quiet, serving
from tests.bench.sessions import filled, new_store

LENGTHS = {"f0": 100, "f1": 500, "f2": 5_000, "f3": 20_000}
_SETTINGS = "[budget]\nlimit = 10000000\n"  # nothing is compacted: the length is what is measured
_ROUNDS = 9


def measure(folder: Path, report: Report) -> None:
    place = folder / "requesting"
    (place / "config" / "dagentd").mkdir(parents=True)
    (place / "config" / "dagentd" / "config.toml").write_text(_SETTINGS)
    store = new_store(place, len(LENGTHS))
    for feature, length in LENGTHS.items():
        filled(store, feature, length)
    store.close()
    with serving(place / "repo", XDG_CONFIG_HOME=str(place / "config")) as served, Line(served.socket) as line:
        quiet(served.client)
        report.heading("A request of a long session, over the socket")
        for feature in ("f1", "f2"):
            for form in ("both", "system", "messages"):
                _request(line, feature, form, report)
        report.heading("The last 10 messages of a long session, over the socket")
        _last(line, report)


def _call(method: str, feature: str, **params: Any) -> bytes:
    return protocol.request(method, {"sessionId": f"pm-feature-{feature}", **params}, 1)


def _request(line: Line, feature: str, form: str, report: Report) -> None:
    """In turns with the limit, so that a slow moment of the machine falls on both."""
    call = _call("session.buildRequest", feature, userMessage="And now?", form=form)
    answer = json.loads(line.ask(call))["result"]
    taken: dict[str, list[float]] = {"encoding": [], "asking": []}
    for _ in range(_ROUNDS):
        taken["encoding"].append(median_ms(lambda: jsontext.encode(answer), 1))
        taken["asking"].append(median_ms(lambda: line.ask(call), 1))
    encoding, asking = (statistics.median(taken[name]) for name in ("encoding", "asking"))
    length = LENGTHS[feature]
    report.figure(f"encoding the answer, {length} messages, {form}", f"{encoding:.3f} ms")
    report.ratio(f"buildRequest, {length} messages, {form}", asking, encoding, 3)


def _last(line: Line, report: Report) -> None:
    calls = {feature: _call("session.getMessages", feature, limit=10) for feature in ("f0", "f3")}
    taken: dict[str, list[float]] = {feature: [] for feature in calls}
    for call in calls.values():
        line.ask(call)  # opened
    for _ in range(30):
        for feature, call in calls.items():
            taken[feature].append(median_ms(lambda call=call: line.ask(call), 10))  # type: ignore[misc]
    short, long = (statistics.median(taken[feature]) for feature in calls)
    report.figure("getMessages(10) of 100 messages", f"{short:.3f} ms")
    report.ratio("getMessages(10) of 20 000 messages", long, short, 1.5)
