"""Every test gets a home of its own, and real git repositories where it asks for them."""

from __future__ import annotations

import gc
import itertools
import json
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import hypothesis
import pytest
import pytest_timeout  # type: ignore[import-untyped]
from hypothesis import HealthCheck

from tests import turns
from tests.patience import patience
from tests.torture.seeds import THOROUGH, of_the_run

# A slow machine is no failure.
hypothesis.settings.register_profile(
    "unhurried", deadline=None, max_examples=300 if THOROUGH else 40, suppress_health_check=[HealthCheck.too_slow]
)
hypothesis.settings.load_profile("unhurried")

FEATURE = "feat-login"
FOREIGN = ("GIT_", "XDG_", "DAGENTD_", "ANTHROPIC_", "CLAUDE_", "TMUX")
GITCONFIG = """\
[user]
	name = Test
	email = test@example.org
[init]
	defaultBranch = main
"""
_PLACES = {"XDG_CONFIG_HOME": ".config", "XDG_STATE_HOME": "state", "XDG_DATA_HOME": "data", "XDG_CACHE_HOME": "cache",
           "XDG_RUNTIME_DIR": "run", "TMPDIR": "tmp", "TMUX_TMPDIR": "tmux"}  # fmt: skip
_number = itertools.count()
_untouched: list[Path] = []  # homes in which nothing was ever written: most tests need none


@dataclass(frozen=True)
class SampleProject:
    root: Path
    worktree: Path
    feature: str

    @property
    def dagent(self) -> Path:
        return self.worktree / ".dagent"


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Home, XDG folders and temp dir of this test alone; nothing of the machine's git or keys is seen. Not by the
    test's own `monkeypatch`: one that undoes its patches early would be back in the real home."""
    folder = _untouched.pop() if _untouched else _new_home(tmp_path_factory.getbasetemp() / "homes")
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(FOREIGN)]:
            patch.delenv(name)
        for name, below in {"HOME": "", **_PLACES}.items():
            patch.setenv(name, str(folder / below))
        patch.setattr(tempfile, "tempdir", None)  # it remembers the TMPDIR of its first use
        yield folder
    if _is_untouched(folder):
        _untouched.append(folder)


def _new_home(homes: Path) -> Path:
    """Counted here: pytest looks through all its folders for a number that is free."""
    folder = homes / str(next(_number))
    for place in (folder, *(folder / below for below in _PLACES.values())):
        place.mkdir(mode=0o700, parents=True)
    (folder / ".gitconfig").write_text(GITCONFIG)
    return folder


def _is_untouched(folder: Path) -> bool:
    """As `_new_home` made it."""
    try:
        modes = {stat.S_IMODE(os.stat(folder / below).st_mode) for below in ("", *_PLACES.values())}
        held = {below: os.listdir(folder / below) for below in _PLACES.values()}
        there = set(os.listdir(folder)) == {".gitconfig", *held} and (folder / ".gitconfig").read_text() == GITCONFIG
        return there and not any(held.values()) and modes == {0o700}
    except OSError:
        return False


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repo(tmp_path / "repo")


@pytest.fixture
def project(repo: Path) -> SampleProject:
    return make_project(repo)


class Prepared:
    """What `make_repo` and `make_project` copy: git took 30 ms of a core for each of thousands."""

    root: Path
    worktree = Path(".dagent-worktrees", FEATURE)
    of_the_worktree = (Path(".git", "worktrees", FEATURE), Path(".git", "refs", "heads", "feature"),
                       Path(".git", "logs", "refs", "heads", "feature"), worktree)  # fmt: skip


@pytest.fixture(scope="session", autouse=True)
def _prepared(tmp_path_factory: pytest.TempPathFactory) -> None:
    prepare(tmp_path_factory.mktemp("prepared"))


def prepare(folder: Path) -> None:
    """By git itself, in a home where nobody has changed its settings."""
    (folder / ".gitconfig").write_text(GITCONFIG)
    clean = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    Prepared.root = root = folder / "repo"
    root.mkdir()
    (root / "README.md").write_text("# Sample\n")
    for line in ("init -q", "add README.md", "commit -q -m Start",
                 f"worktree add -q -b feature/{FEATURE} {Prepared.worktree}"):  # fmt: skip
        subprocess.run(["git", *line.split()], cwd=root, env=clean | {"HOME": str(folder)}, check=True)
    for example in (root / ".git" / "hooks").glob("*.sample"):
        example.unlink()


def make_repo(root: Path) -> Path:
    """A git repository with one commit."""

    def not_here(folder: str, names: list[str]) -> list[str]:
        here = Path(folder).relative_to(Prepared.root)
        return [name for name in names if here / name in (*Prepared.of_the_worktree, Path(".git", "worktrees"),
                                                          Path(".dagent-worktrees"))]  # fmt: skip

    shutil.copytree(Prepared.root, root, ignore=not_here)
    return root


def make_project(repo: Path) -> SampleProject:
    """A repository with one feature in a linked worktree, as the app makes them."""
    for part in Prepared.of_the_worktree:
        shutil.copytree(Prepared.root / part, repo / part)
    worktree = repo / Prepared.worktree
    (worktree / ".git").write_text(f"gitdir: {repo / Prepared.of_the_worktree[0]}\n")
    (repo / Prepared.of_the_worktree[0] / "gitdir").write_text(f"{worktree / '.git'}\n")
    (worktree / ".dagent").mkdir()
    feature = {"id": FEATURE, "name": "Login", "status": "in_progress", "branchName": f"feature/{FEATURE}"}
    (worktree / ".dagent" / "feature.json").write_text(json.dumps(feature))
    return SampleProject(repo, worktree, FEATURE)


def git(cwd: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=cwd, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def pytest_configure() -> None:
    """Drawn before there are other processes: all must choose the same tests."""
    of_the_run()


def pytest_report_header() -> str:
    share = "all of each test" if THOROUGH else "a share of the tests that take turns"
    return f"{share}, by TORTURE_SEED={of_the_run()}; `make torture` takes all and what is marked long"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    turns.choose(config, items)


def pytest_collection_finish() -> None:
    """What was loaded and collected stays until the end: nobody has to look through it again and again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: pytest_timeout.Settings) -> object:
    """A busy machine takes longer for everything."""
    return pytest_timeout.pytest_timeout_set_timer(item, settings._replace(timeout=patience(settings.timeout)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What tests have to tell although they passed: here, because with several workers only this one prints."""
    reports = [each for status in ("passed", "failed") for each in terminalreporter.stats.get(status, [])]
    told = [pair for report in reports for pair in getattr(report, "user_properties", [])]
    explored: dict[str, int] = {}
    for name, how, points in [value for key, value in told if key == "crash points"]:
        explored[f"{name}, {how}"] = explored.get(f"{name}, {how}", 0) + points
    if explored:
        terminalreporter.section("crash points")
        for what, points in explored.items():
            terminalreporter.line(f"{points:5} {what}")
        terminalreporter.line(f"{sum(explored.values()):5} crash points explored")
    for value in [value for key, value in told if key == "told"]:
        terminalreporter.line(value)
