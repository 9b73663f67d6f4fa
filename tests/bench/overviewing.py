"""The first page of `dagentd web` with a hundred sessions: what the daemon and the page take for it."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from dagentd.web.link import Link
from dagentd.web.pages.overview import overview
from tests.bench.limits import median_ms
from tests.bench.report import Report
from tests.bench.served import quiet, serving
from tests.bench.sessions import new_store

_SESSIONS, _FEATURES = 100, 10


def measure(folder: Path, report: Report) -> None:
    report.heading("the page")
    store = new_store(folder / "overview", _FEATURES)
    store.close()
    said = [{"role": "user", "content": f"Line {number}"} for number in range(20)]
    with serving(store.project.root) as served:
        client = served.client
        for number in range(_SESSIONS):
            made = client.call("session.getOrCreate", project=str(store.project.root), type="task", agentType="dev",
                               featureId=f"f{number % _FEATURES}", taskId=f"t{number}")  # fmt: skip
            client.call("session.addMessages", sessionId=made["id"], messages=said)
        quiet(client)
        os.environ["DAGENTD_SOCKET"] = str(served.socket)  # as for a page of this daemon
        with contextlib.closing(Link()) as link:
            taken = median_ms(lambda: overview(link, gone=False), 15)
        del os.environ["DAGENTD_SOCKET"]
    report.at_most(f"the overview of {_SESSIONS} sessions", taken, 150, "ms")
