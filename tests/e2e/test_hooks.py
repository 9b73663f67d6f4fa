"""`dagentd hooks`, `init` and `remove` as a user types them, and commits with the daemon in every state."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.conftest import SampleProject, git
from tests.e2e.daemon import Daemon, until
from tests.e2e.dagentd import dagentd, dagentd_json
from tests.jobs.hooks.hooked import HOOKS, OLD, PYTHON, SH, Hooked, Sort, commit, git_says


@pytest.fixture(autouse=True)
def old_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git_says(OLD, tmp_path, monkeypatch)


def write(repo: Path, event: str, text: str) -> None:
    hook = repo / HOOKS / event
    hook.write_text(text)
    hook.chmod(0o755)


def test_install_status_uninstall(project: SampleProject) -> None:
    folder = project.root / HOOKS
    assert "missing" in dagentd("hooks", "status", cwd=project.root)
    said = dagentd("hooks", "status", str(project.root), cwd=Path("/"))
    assert said.endswith(f"Install them with: dagentd hooks install {project.root}\n")
    rows = dagentd("hooks", "install", cwd=project.worktree).splitlines()[1:]
    assert [row.split() for row in rows] == [
        [project.root.name, "all", "installed", str(folder)],
        [project.worktree.name, "all", "installed", str(folder)],
    ]
    assert "Nothing had to be changed" in dagentd("hooks", "install", cwd=project.root)
    said = dagentd("hooks", "status", str(project.root), cwd=Path("/"))
    assert said.count("works") == 2
    assert said.endswith("The daemon does not run.\n")
    found = dagentd_json("hooks", "status", cwd=project.root)
    assert len(found["hooks"]) == 8
    assert {each["arrived"] for each in found["hooks"]} == {True}
    assert found["daemonTakes"] is None
    said = dagentd("hooks", "uninstall", cwd=project.root)
    assert f"Removed from {folder}: post-checkout, post-commit," in said
    assert dagentd("hooks", "uninstall", cwd=project.root) == "Nothing was installed.\n"


def test_what_is_left_alone_is_said_with_what_to_do(repo: Path) -> None:
    write(repo, "post-merge", PYTHON)
    for command in ("install", "install", "status"):
        said = dagentd("hooks", command, cwd=repo, status=1)
        assert "Nothing had to be changed" not in said
        assert f"{repo}/{HOOKS}/post-merge: is written for `/usr/bin/env python3`." in said
        assert 'dagentd/hook" post-merge' in said
    dagentd("hooks", "uninstall", cwd=repo)


def test_init_installs_and_remove_undoes(daemon: Daemon, repo: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    files: dict[str, str | bytes] = {f"{HOOKS}/post-commit": SH, f"{HOOKS}/post-merge": PYTHON}
    hooked = Hooked(repo, tmp_path_factory.mktemp("outside"), Sort("two", files, True))
    hooked.make()
    before = hooked.everything()
    said = daemon.dagentd("init", str(repo))
    assert f"hooks in {repo}/{HOOKS}." in said
    assert f"{repo}/{HOOKS}/post-merge: is written for" in said
    assert hooked.everything() != before
    daemon.dagentd("init", str(repo))
    daemon.dagentd("remove", str(repo))
    after = hooked.everything()
    assert {path: look for path, look in after.items() if f"{repo}/.git/dagentd" not in path} == before
    assert not (repo / ".git" / "dagentd" / "spool").exists()


def test_init_works_where_hooks_cannot_be_had(daemon: Daemon, repo: Path) -> None:
    git(repo, "config", "core.hooksPath", "/dev/null")
    said = daemon.dagentd("init", str(repo))
    assert said.count("git runs no hooks here: core.hooksPath is /dev/null") == 1
    assert "dagentd works without them" in said


def test_a_commit_is_the_same_whatever_state_the_daemon_is_in(daemon: Daemon, repo: Path) -> None:
    """Running, stopped by a signal, killed, uninstalled: nothing more is printed, and the exit status is the same."""
    write(repo, "post-commit", SH + 'echo "said by the hook"\n')
    record = repo / ".git" / "record"
    behaved = [commit(repo, record), checkout(repo)]
    daemon.dagentd("init", str(repo))
    assert [commit(repo, record), checkout(repo)] == behaved
    pid = daemon.pid
    os.kill(pid, signal.SIGSTOP)
    assert [commit(repo, record), checkout(repo)] == behaved
    os.kill(pid, signal.SIGKILL)
    daemon.ends(pid)
    assert [commit(repo, record), checkout(repo)] == behaved
    assert {"post-commit", "post-checkout"} <= set(os.listdir(repo / ".git" / "dagentd" / "spool"))
    daemon.dagentd("remove", str(repo))
    assert [commit(repo, record), checkout(repo)] == behaved


def checkout(repo: Path) -> str:
    """It exits as its hook does; `git` checks that."""
    return git(repo, "checkout", "-B", "side", "main")


def test_a_hook_works_without_home_and_path(repo: Path) -> None:
    dagentd("hooks", "install", cwd=repo)
    author = {"GIT_AUTHOR_NAME": "x", "GIT_AUTHOR_EMAIL": "x", "GIT_COMMITTER_NAME": "x", "GIT_COMMITTER_EMAIL": "x"}
    command = ["/usr/bin/env", "-i", *(f"{name}={value}" for name, value in author.items())]
    line = "git commit -q --allow-empty -m x"
    done = subprocess.run([*command, "/bin/sh", "-c", line], cwd=repo, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert os.listdir(repo / ".git" / "dagentd" / "spool") == ["post-commit"]


def test_a_daemon_that_hangs_is_told_from_one_that_does_not_run(daemon: Daemon, repo: Path) -> None:
    daemon.dagentd("init", str(repo))
    pid = daemon.pid
    os.kill(pid, signal.SIGSTOP)
    said = daemon.dagentd("hooks", "status", cwd=repo, status=1)
    assert "works" in said
    assert "The daemon has not taken what arrived" in said
    os.kill(pid, signal.SIGKILL)
    daemon.ends(pid)
    assert "The daemon does not run." in daemon.dagentd("hooks", "status", cwd=repo)


def test_the_daemon_takes_what_arrives(daemon: Daemon, project: SampleProject) -> None:
    daemon.dagentd("init", str(project.root))
    assert "The daemon takes what arrives." in daemon.dagentd("hooks", "status", cwd=project.root)
    git(project.worktree, "commit", "-q", "--allow-empty", "-m", "x")
    spool = project.root / ".git" / "dagentd" / "spool"
    until(lambda: not any(path.stat().st_size for path in spool.iterdir()), "taking the word of the commit")
    assert [path.name for path in spool.iterdir()] == [f"post-commit.{project.feature}"]
