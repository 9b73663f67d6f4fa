"""Our own work for 20 sessions from a commit to their contexts, beside writing the same bytes and nothing else."""

from __future__ import annotations

import statistics
import subprocess
import time
from pathlib import Path

from dagentd.adapters.git import project_at
from dagentd.jobs.context import rebuild
from dagentd.jobs.context.checkouts import Checkouts
from dagentd.settings import Settings
from dagentd.store.journal.index import Index
from dagentd.store.layout import layout
from dagentd.store.store import Store
from tests.bench.limits import median_ms, write_plainly
from tests.bench.report import Report

SESSIONS, ROUNDS = 20, 25
AIM = 40.0  # ms
_NOBODY = ("-c", "user.name=Bench", "-c", "user.email=bench@localhost")


def measure(folder: Path, report: Report) -> None:
    report.heading(f"Contexts of {SESSIONS} sessions after a commit")
    root, worktree = folder / "contexts", folder / "contexts" / ".dagent-worktrees" / "login"
    _make(root, worktree)
    store, shared, settings = Store(project_at(root), Index(None)), Checkouts(), Settings()
    for number in range(SESSIONS):
        store.maker.get_or_create("task", "dev", "login", f"t{number}", "in_dev").leave()
    feature = store.catalogue.feature("login")

    def once() -> float:
        begin = time.perf_counter()
        assert not rebuild(store, feature, settings, shared).errors
        return (time.perf_counter() - begin) * 1000

    report.figure("the first time, which loads libgit2 and the vocabulary", f"{once():.0f} ms")
    taken = []
    for number in range(ROUNDS):
        _git(worktree, "commit", "-q", "--allow-empty", "-m", f"Commit {number}")
        taken.append(once())
    paths = [each.document("context") for each in layout.sessions(feature)]
    contents = {path.with_suffix(".copy"): path.read_bytes() for path in paths}
    plain = median_ms(lambda: _write(contents), ROUNDS)
    report.figure("to write as many files of that size, unsynced", f"{plain:.1f} ms")
    report.at_most("read, compare and write all of them, p50", statistics.median(taken), AIM, "ms")
    report.figure("  p90", f"{statistics.quantiles(taken, n=10)[-1]:.1f} ms")
    report.figure("look again when nothing changed", f"{median_ms(once, ROUNDS):.1f} ms")
    store.close()


def _write(contents: dict[Path, bytes]) -> None:
    for path, data in contents.items():
        write_plainly(path, data)


def _make(root: Path, worktree: Path) -> None:
    for name in range(1000):
        path = root / f"src{name % 20}" / f"m{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("pass\n")
    (root / "CLAUDE.md").write_text("Keep lines short, and say why.\n" * 250)  # 8 kB
    _git(root, "init", "-q")
    _git(root, "add", ".")
    _git(root, "commit", "-q", "-m", "Start")
    _git(root, "worktree", "add", "-q", "-b", "login", str(worktree))
    (worktree / ".dagent").mkdir()
    (worktree / ".dagent" / "feature.json").write_text('{"id": "login", "name": "Login"}')


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *_NOBODY, *arguments], cwd=folder, check=True)
