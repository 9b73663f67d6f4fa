"""How long commands take to start, beside a bare Python and beside one that loads click."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

from tests.bench.hooks import running
from tests.bench.limits import median_ms
from tests.bench.report import Report
from tests.bench.sessions import filled, new_store

_MORE = 150.0  # milliseconds over a bare Python that --help may take
_SHOW = 120.0  # milliseconds over a bare Python that a command may take which asks the daemon
_TAB = 2.5  # times a Python that only loads click: for this long somebody who presses Tab may wait
_ROUNDS = 15


def measure(folder: Path, report: Report) -> None:
    report.heading("Starting")
    bare = median_ms(lambda: _run("-c", ""), _ROUNDS)
    click = median_ms(lambda: _run("-c", "import click"), _ROUNDS)
    report.figure("bare Python", f"{bare:.0f} ms")
    report.figure("bare Python with click", f"{click:.0f} ms")
    root = str(folder / "repo")
    if not os.path.isdir(root):  # other parts make it, if they run before
        new_store(folder, 1).close()
    taken = median_ms(lambda: _dagentd("--help"), _ROUNDS)
    report.at_most("dagentd --help, more than bare Python", taken - bare, _MORE, "ms")
    report.ratio("dagentd completion bash", median_ms(lambda: _dagentd("completion", "bash"), _ROUNDS), click, _TAB)
    tab = median_ms(lambda: _dagentd("show", "-C", root, "", shell="bash"), _ROUNDS)
    report.ratio("completing a session id", tab, click, _TAB)
    _measure_show(folder, report, bare)
    report.figure("dagentd sessions", f"{median_ms(lambda: _dagentd('sessions', root), 5):.0f} ms")


def _measure_show(folder: Path, report: Report, bare: float) -> None:
    """Where no daemon runs, off the documents of the session; else by asking."""
    whose = ("pm-feature-f0", "-C", str(folder / "repo"))
    with contextlib.closing(new_store(folder, 1)) as store:
        filled(store, "f0", 10)
    _dagentd("add", *whose, "One more.")  # its documents are as they were left from now on
    report.figure("dagentd show without a daemon", f"{median_ms(lambda: _dagentd('show', *whose), 5):.0f} ms")
    with running(folder / "repo"):
        taken = median_ms(lambda: _dagentd("show", *whose), _ROUNDS)
    del os.environ["DAGENTD_SOCKET"]
    report.at_most("dagentd show by the daemon, more than bare Python", taken - bare, _SHOW, "ms")


def _dagentd(*arguments: str, shell: str = "") -> None:
    _run("-m", "dagentd", *arguments, **({"_DAGENTD_COMPLETE": shell} if shell else {}))


def _run(*arguments: str, **more: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True, env={**os.environ, **more})
