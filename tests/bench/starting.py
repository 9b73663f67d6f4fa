"""How long commands take to start, beside a bare Python and beside one that loads click."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.bench.limits import median_ms
from tests.bench.report import Report
from tests.bench.sessions import new_store

_MORE = 150.0  # milliseconds over a bare Python that --help may take
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
    report.figure("dagentd sessions", f"{median_ms(lambda: _dagentd('sessions', root), 5):.0f} ms")


def _dagentd(*arguments: str, shell: str = "") -> None:
    _run("-m", "dagentd", *arguments, **({"_DAGENTD_COMPLETE": shell} if shell else {}))


def _run(*arguments: str, **more: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True, env={**os.environ, **more})
