"""Every test gets a home of its own, and real git repositories where it asks for them."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import hypothesis
import pytest
import pytest_timeout  # type: ignore[import-untyped]

from tests.patience import patience

# A slow machine is no failure.
hypothesis.settings.register_profile("unhurried", deadline=None)
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
    folder = tmp_path_factory.mktemp("home")
    places = {"HOME": ".", "XDG_CONFIG_HOME": ".config", "XDG_STATE_HOME": "state", "XDG_DATA_HOME": "data"}
    places |= {"XDG_CACHE_HOME": "cache", "XDG_RUNTIME_DIR": "run", "TMPDIR": "tmp", "TMUX_TMPDIR": "tmux"}
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(FOREIGN)]:
            patch.delenv(name)
        for name, below in places.items():
            place = folder / below
            place.mkdir(mode=0o700, exist_ok=True)
            patch.setenv(name, str(place))
        patch.setattr(tempfile, "tempdir", None)  # it remembers the TMPDIR of its first use
        (folder / ".gitconfig").write_text(GITCONFIG)
        yield folder


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repo(tmp_path / "repo")


@pytest.fixture
def project(repo: Path) -> SampleProject:
    return make_project(repo)


def make_repo(root: Path) -> Path:
    """A git repository with one commit."""
    git(root.parent, "init", "-q", str(root))
    (root / "README.md").write_text("# Sample\n")
    git(root, "add", "README.md")
    git(root, "commit", "-q", "-m", "Start")
    return root


def make_project(repo: Path) -> SampleProject:
    """A repository with one feature in a linked worktree, as the app makes them."""
    worktree = repo / ".dagent-worktrees" / FEATURE
    git(repo, "worktree", "add", "-q", "-b", f"feature/{FEATURE}", str(worktree))
    (worktree / ".dagent").mkdir()
    feature = {"id": FEATURE, "name": "Login", "status": "in_progress", "branchName": f"feature/{FEATURE}"}
    (worktree / ".dagent" / "feature.json").write_text(json.dumps(feature))
    return SampleProject(repo, worktree, FEATURE)


def git(cwd: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=cwd, check=True, capture_output=True, text=True)
    return done.stdout.strip()


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
