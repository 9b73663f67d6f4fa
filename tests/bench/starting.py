"""How long commands take to start, beside a bare Python."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.bench.limits import median_ms
from tests.bench.report import Report


def measure(folder: Path, report: Report) -> None:
    report.heading("Starting")
    bare = median_ms(lambda: _run("-c", ""), 10)
    report.figure("bare Python", f"{bare:.0f} ms")
    report.figure("dagentd --help", f"{median_ms(lambda: _run('-m', 'dagentd', '--help'), 10):.0f} ms")
    root = str(folder / "repo")
    report.figure("dagentd sessions", f"{median_ms(lambda: _run('-m', 'dagentd', 'sessions', root), 5):.0f} ms")


def _run(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
