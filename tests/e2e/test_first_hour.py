"""From a clone to a daemon on one's own repository, and back to a home in which nothing of it is left."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SampleProject, git
from tests.e2e.daemon import until
from tests.patience import patience
from tests.test_wheel import INGREDIENTS, SOURCE

NEEDED = ("python3", "git", "make", "sh", "touch", "rm", "env", "uname", "systemctl")  # the last two, where they are
ASKED = '{{"project": "{}", "type": "feature", "agentType": "pm", "featureId": "{}"}}'
NO_REGISTRY = ("No matching distribution", "Could not find a version", "Failed to fetch", "dns error")


@pytest.fixture
def clone(tmp_path: Path) -> Iterator[Path]:
    """As `git clone` would make it. Package managers keep their caches out of the home that is looked at."""
    folder = tmp_path / "clone"
    folder.mkdir()
    for name in (*INGREDIENTS, "Makefile"):
        source = SOURCE / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)
    yield folder
    assert not processes_of(tmp_path)


@pytest.fixture
def poor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with only Python, git and make."""
    bare = tmp_path / "bin"
    bare.mkdir()
    for name in NEEDED:
        if found := shutil.which(name, path="/usr/local/bin:/usr/bin:/bin"):
            (bare / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(bare))


@pytest.fixture(autouse=True)
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What package managers keep for themselves is none of ours."""
    for name in ("PIP_CACHE_DIR", "UV_CACHE_DIR", "UV_TOOL_DIR", "UV_TOOL_BIN_DIR", "PIPX_HOME", "PIPX_BIN_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "managers" / name))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")  # Python's caches are not ours either


def files_in(*folders: Path) -> set[Path]:
    """Every file, but for git's objects and logs: a commit of the user's is made meanwhile."""
    found = (path for folder in folders for path in folder.rglob("*") if not path.is_dir())
    return {path for path in found if not {"objects", "logs"} & set(path.parts)}


def processes_of(folder: Path) -> list[str]:
    """The processes that run from there, as the system tells it: a daemon shows as `dagentd start`, whatever it was
    started by, but it has its environment."""
    lines = []
    for each in Path("/proc").glob("[0-9]*"):
        try:
            said = (each / "cmdline").read_bytes() + (each / "environ").read_bytes()
            lines.append(said.replace(b"\0", b" ").decode(errors="replace"))
        except OSError:  # it has ended
            continue
    return [line for line in lines if str(folder) in line]


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=patience(110)
    )
    if done.returncode:
        skip_without_registry(done.stdout + done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def skip_without_registry(said: str) -> None:
    if any(each in said for each in NO_REGISTRY):
        pytest.skip("no package registry can be reached, and what dagentd needs comes from there")


def one_session(dagentd: Path, project: SampleProject) -> None:
    """A session is made, a commit is made, and the daemon has it in the session's context."""
    run(dagentd, "call", "session.getOrCreate", ASKED.format(project.root, project.feature), cwd=project.root)
    git(project.worktree, "commit", "-q", "--allow-empty", "-m", "Sell by the dozen")
    until(lambda: any("Sell by the dozen" in each.read_text() for each in project.dagent.rglob("context_*.json")))


def left_by(before: set[Path], project: SampleProject, home: Path) -> list[Path]:
    """What is there now and was not before, other than session files in their tree."""
    new = files_in(home, project.root) - before
    return sorted(each for each in new if project.dagent not in each.parents and each.name != "COMMIT_EDITMSG")


@contextlib.contextmanager
def served_by_make(clone: Path, root: Path) -> Iterator[None]:
    """In a terminal of its own, until Ctrl-C, which goes to all that run there."""
    command = ["make", "run", f"PROJECT={root}"]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL}
    with subprocess.Popen(command, cwd=clone, text=True, start_new_session=True, **pipes) as make:
        try:
            said = ""
            while "Serving" not in said:
                said += (line := make.stdout.readline() if make.stdout else "")
                if not line:
                    skip_without_registry(said)
                    pytest.fail(said)
            yield
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(make.pid, signal.SIGINT)


@pytest.mark.long  # a second whole installation; uv's below is the short form
@pytest.mark.usefixtures("poor")
def test_a_clone_serves_a_repository_with_one_more_command(clone: Path, project: SampleProject, home: Path) -> None:
    before = files_in(home, project.root)
    dagentd = clone / ".venv" / "bin" / "dagentd"
    with served_by_make(clone, project.root):
        one_session(dagentd, project)
    run(dagentd, "remove", "--purge", cwd=project.root)
    shutil.rmtree(clone)
    assert left_by(before, project, home) == []


INSTALLERS = {
    "pipx": (["pipx", "install", "."], ["pipx", "uninstall", "dagentd"], "PIPX_BIN_DIR"),
    "uv": (["uv", "tool", "install", "."], ["uv", "tool", "uninstall", "dagentd"], "UV_TOOL_BIN_DIR"),
}


@pytest.mark.parametrize("installer", [pytest.param("pipx", marks=pytest.mark.long), "uv"])
def test_it_is_installed_used_and_removed(installer: str, clone: Path, project: SampleProject, home: Path) -> None:
    install, uninstall, folder = INSTALLERS[installer]
    tools = Path(sysconfig.get_path("scripts"))
    before = files_in(home, project.root)
    run(tools / install[0], *install[1:], "--python", sys.executable, cwd=clone)
    shutil.rmtree(clone)  # all that follows works without the source
    dagentd = Path(os.environ[folder], "dagentd")
    run(dagentd, "init", cwd=project.root)
    one_session(dagentd, project)
    run(dagentd, "service", "install", cwd=project.root)
    run(dagentd, "remove", "--purge", cwd=project.root)
    run(tools / uninstall[0], *uninstall[1:], cwd=project.root)
    clone.mkdir()
    assert not dagentd.exists()
    assert left_by(before, project, home) == []
