"""AGX with the real daemon and the real command: checkouts, edits, damage, and quiet when there is nothing to do."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import git
from tests.e2e.daemon import Daemon, bytes_written, cpu_seconds, until
from tests.e2e.dagentd import dagentd, dagentd_json
from tests.e2e.terminal import Terminal
from tests.jobs.agx.tmux import Server
from tests.jobs.agx.tmux import server as server


def index() -> dict[str, Any]:
    try:
        found = json.loads((home() / "index.json").read_bytes())
    except (FileNotFoundError, ValueError):
        return {"sessions": []}
    assert isinstance(found, dict)
    return found


def home() -> Path:
    return Path(os.environ["HOME"], ".agx")


def states() -> dict[str, str]:
    return {each["sessionId"]: each["status"]["state"] for each in index()["sessions"]}


def current(repo: Path) -> str | None:
    try:
        return (repo / ".agx" / "sessions" / ".current").read_text()
    except FileNotFoundError:
        return None


def problems(daemon: Daemon) -> list[dict[str, Any]]:
    return [each for each in daemon.status["problems"] if each["id"] == "agx"]


@pytest.fixture
def served(daemon: Daemon, repo: Path) -> Path:
    """A registered repository with an AGX session of its branch, and a daemon that serves it."""
    dagentd("agx", "new", "--description", "The work", cwd=repo)
    daemon.register(repo)
    daemon.start()
    until(lambda: states() == {"main": "active"})
    return repo


def test_a_checkout_is_followed_at_once_and_so_is_a_commit(daemon: Daemon, served: Path) -> None:
    git(served, "checkout", "-q", "-b", "feature/auth")
    until(lambda: states() == {"feature-auth": "active", "main": "paused"}, "the checkout")
    assert current(served) == "feature-auth"
    git(served, "commit", "-q", "--allow-empty", "-m", "More")
    id = git(served, "rev-parse", "HEAD")[:12]
    until(lambda: id in [each["git"]["commit"] for each in index()["sessions"]], "the commit")
    git(served, "checkout", "-q", "main")
    until(lambda: states() == {"feature-auth": "paused", "main": "active"}, "the way back")
    assert current(served) == "main"
    assert daemon.status["health"] == "ok" and problems(daemon) == []


def test_a_checkout_while_no_daemon_ran_is_found_at_its_start(daemon: Daemon, served: Path) -> None:
    os.kill(pid := daemon.pid, signal.SIGKILL)
    git(served, "checkout", "-q", "-b", "side")
    daemon.ends(pid)  # its lock may outlast its socket
    daemon.start()
    until(lambda: states() == {"side": "active", "main": "paused"})


def test_a_worktree_is_no_checkout_of_the_project(daemon: Daemon, served: Path) -> None:
    worktree = served / ".dagent-worktrees" / "w"
    git(served, "worktree", "add", "-q", "-b", "w", str(worktree))
    git(worktree, "commit", "-q", "--allow-empty", "-m", "x")
    git(served, "commit", "-q", "--allow-empty", "-m", "y")
    id = git(served, "rev-parse", "HEAD")[:12]
    until(lambda: index()["sessions"][0]["git"]["commit"] == id)
    assert states() == {"main": "active"} and not (worktree / ".agx").exists()


def test_what_another_program_does_to_a_session_is_in_the_index_at_once(daemon: Daemon, served: Path) -> None:
    path = served / ".agx" / "sessions" / "main.json"
    raw = json.loads(path.read_text())
    raw["metadata"]["description"] = "Other"
    path.write_text(json.dumps(raw))
    until(lambda: index()["sessions"][0]["metadata"]["description"] == "Other", "the edit")
    other = {**raw, "sessionId": "other", "metadata": {**raw["metadata"], "variant": "other"}}
    path.with_name("other.json").write_text(json.dumps(other))
    until(lambda: set(states()) == {"main", "other"}, "the new one")
    path.with_name("other.json").unlink()
    until(lambda: set(states()) == {"main"}, "the removal")


def test_a_damaged_session_is_told_of_until_it_is_mended(daemon: Daemon, served: Path) -> None:
    path = served / ".agx" / "sessions" / "main.json"
    whole = path.read_bytes()
    path.write_bytes(whole[:50])
    until(lambda: [each["path"] for each in problems(daemon)] == [str(path)], "the complaint")
    assert daemon.status["health"] == "ok", "a note"
    assert states() == {"main": "active"}
    said = dagentd("agx", "list", cwd=served, status=1)
    assert f"{path}: is not valid JSON" in said
    path.write_bytes(whole)
    until(lambda: problems(daemon) == [], "the mending")


@pytest.mark.parametrize("damage", [b"{", b"", None])
def test_an_index_that_is_damaged_or_removed_heals_at_once(daemon: Daemon, served: Path, damage: bytes | None) -> None:
    until(lambda: daemon.status["queues"]["running"] == [])
    watched = until(lambda: daemon.status["watches"]["count"] and _hears_home(daemon), "the watch")
    assert watched
    if damage is None:
        (home() / "index.json").unlink()
    else:
        (home() / "index.json").write_bytes(damage)
    until(lambda: states() == {"main": "active"}, "the healing")
    assert len(list(home().glob("index.json.corrupt.*"))) == (0 if damage is None else 1)


def _hears_home(daemon: Daemon) -> bool:
    """inotify's own list of what is watched, by inode."""
    inode = f"ino:{home().stat().st_ino:x} "
    folder = Path(f"/proc/{daemon.pid}/fdinfo")
    return any(inode in path.read_text() for path in folder.iterdir())


def test_agx_that_comes_later_is_kept_too(daemon: Daemon, repo: Path) -> None:
    daemon.register(repo)
    daemon.start()
    until(lambda: daemon.call("project.list")["projects"])
    dagentd("agx", "new", cwd=repo)
    assert states() == {"main": "active"}
    git(repo, "checkout", "-q", "-b", "side")
    until(lambda: states() == {"main": "paused", "side": "active"})


def test_switched_off_nothing_happens(daemon: Daemon, repo: Path) -> None:
    dagentd("agx", "new", cwd=repo)
    daemon.configure("[agx]\nenabled = false\n")
    daemon.register(repo)
    daemon.start()
    before = (home() / "index.json").read_bytes()
    git(repo, "checkout", "-q", "-b", "side")
    until(lambda: daemon.call("project.scan", project=str(repo)) is not None)
    assert (home() / "index.json").read_bytes() == before and current(repo) == "main"
    assert "AGX is switched off" in dagentd("agx", "list", cwd=repo, status=1)


def test_without_agx_there_is_none(daemon: Daemon, repo: Path) -> None:
    daemon.register(repo)
    daemon.start()
    git(repo, "checkout", "-q", "-b", "side")
    until(lambda: daemon.call("project.scan", project=str(repo)) is not None)
    assert not home().exists() and not (repo / ".agx").exists()


def test_at_rest_nothing_is_written_and_no_time_is_used(daemon: Daemon, served: Path, beats: None) -> None:
    daemon.dagentd("restart")
    git(served, "checkout", "-q", "-b", "side")
    until(lambda: states() == {"main": "paused", "side": "active"})
    pid = daemon.pid
    until(lambda: _still(pid), "settling")
    cpu, written = cpu_seconds(pid), bytes_written(pid)
    time.sleep(3)  # what is measured is a stretch of time
    assert bytes_written(pid) == written
    assert cpu_seconds(pid) - cpu <= 0.2


def _still(pid: int) -> bool:
    before = bytes_written(pid)
    time.sleep(1)
    return bytes_written(pid) == before


def test_the_commands_through_the_daemon_and_without_it(daemon: Daemon, repo: Path) -> None:
    """The same words, the same documents, the same exit statuses."""
    told = []
    for running in (False, True):
        if running:
            daemon.register(repo)
            daemon.start()
            until(lambda: daemon.call("project.list")["projects"])
        told.append(_through_all(repo))
        for path in sorted((repo / ".agx").rglob("*"), reverse=True):
            path.unlink() if not path.is_dir() else path.rmdir()
        (repo / ".agx").rmdir()
        if running:
            until(lambda: states() == {}, "the removal")
    assert told[0] == told[1]


def _through_all(repo: Path) -> list[str]:
    said = [dagentd("agx", "list", cwd=repo)]
    said.append(dagentd("agx", "new", "--description", "x", "--tag", "a", cwd=repo))
    said.append(dagentd("agx", "new", "testing", cwd=repo))
    said.append(dagentd("agx", "new", "testing", cwd=repo, status=1).partition(".agx")[2])
    said.append(dagentd("agx", "switch", "main", cwd=repo))
    said.append(dagentd("agx", "switch", "none", cwd=repo, status=1))
    said.append(dagentd("agx", "archive", "testing", cwd=repo, status=1))  # nobody can be asked
    said.append(dagentd("agx", "archive", "testing", "--yes", cwd=repo))
    said.append(dagentd("agx", "switch", "testing", cwd=repo, status=1))
    said.append(dagentd("agx", "list", "--state", "archived", cwd=repo))
    said.append(dagentd("agx", "restore", "testing", cwd=repo))
    said.append(dagentd("agx", "cleanup", "--dry-run", cwd=repo))
    said.append(dagentd("agx", "cleanup", "main", cwd=repo, status=1))
    said.append(dagentd("agx", "cleanup", "testing", "--yes", cwd=repo))
    said.append(dagentd("agx", "restore", "testing", cwd=repo))
    said.append(dagentd("agx", "claude", "abc-1", cwd=repo))
    said.append(re.sub(r"(?<=×, ).*|(?<=last used).*", "", dagentd("agx", "show", cwd=repo)))
    said.append(dagentd("agx", "list", cwd=repo))
    raw = dagentd_json("agx", "show", "main", cwd=repo)
    assert raw["metadata"] | {"customData": None} == {
        "description": "x", "tags": ["a"], "variant": "main", "isDefault": True, "customData": None,
    }  # fmt: skip
    listed = dagentd_json("agx", "list", cwd=repo)["sessions"]
    assert [(each["sessionId"], each["isCurrent"]) for each in listed] == [("main", True), ("testing", False)]
    assert set(states()) == {"main", "testing"}
    counted = dagentd_json("agx", "index", "--rebuild", cwd=repo)["statistics"]
    assert (counted["totalProjects"], counted["totalSessions"]) == (1, 2)
    assert "repo     main" in dagentd("agx", "list", "--all", cwd=Path("/"))
    return said


def test_the_configuration_is_shown_and_set(repo: Path) -> None:
    assert "session.cleanupInactiveDays  30" in dagentd("agx", "config", cwd=repo)
    said = dagentd("agx", "config", "session.cleanupInactiveDays", "5", cwd=repo)
    assert said.splitlines()[1].split() == ["session.cleanupInactiveDays", "5", "global"]
    assert json.loads((home() / "config.json").read_text())["session"]["cleanupInactiveDays"] == 5
    dagentd("agx", "config", "--local", "session.variants", '["main", "debug"]', cwd=repo)
    held = json.loads((repo / ".agx" / "config.json").read_text())
    assert held == {"version": "1.0.0", "session": {"variants": ["main", "debug"]}}
    wrong = {
        "session.backupCounts": ("3", "did you mean session.backupCount?"), "a.b.c": ("3", "there is no key"),
        "session.backupCount": ("many", "whole number"), "backupCount": ("3", "session.backupCount"),
        "ui.confirmDestructive": ("5", "true or false"),
    }  # fmt: skip
    for key, (value, told) in wrong.items():
        before = (home() / "config.json").read_bytes()
        assert told in dagentd("agx", "config", key, value, cwd=repo, status=1)
        assert (home() / "config.json").read_bytes() == before
    assert dagentd("agx", "config", "session.variants", cwd=repo).split()[-1] == "project"
    assert "There is no" in dagentd("agx", "config", "none.such", cwd=repo)
    assert set(dagentd_json("agx", "config", cwd=repo)) == {"default", "global", "project", "problems"}


def test_destructive_commands_do_not_ask_where_the_user_does_not_want_that(repo: Path) -> None:
    dagentd("agx", "new", "one", cwd=repo)
    dagentd("agx", "new", "two", cwd=repo)
    dagentd("agx", "config", "ui.confirmDestructive", "false", cwd=repo)
    dagentd("agx", "cleanup", "one", cwd=repo)
    assert set(states()) == {"two"}


def test_run_once_does_what_is_due_in_agx_too(repo: Path) -> None:
    dagentd("agx", "new", cwd=repo)
    git(repo, "checkout", "-q", "-b", "side")
    (home() / "index.json").write_bytes(b"{")
    dagentd("run", "--once", cwd=repo)
    assert states() == {"main": "paused", "side": "active"}
    (repo / ".agx" / "sessions" / "bad.json").write_bytes(b"{")
    assert "bad.json" in dagentd("run", "--once", cwd=repo, status=1)


def test_tmux_is_looked_at_by_the_daemon(daemon: Daemon, served: Path, server: Server, beats: None) -> None:
    daemon.configure("[agx]\nindex_interval_s = 1\n")
    daemon.dagentd("restart")
    dagentd("agx", "config", "storage.indexSyncInterval", '"1s"', cwd=served)
    dagentd("agx", "open", "--detached", cwd=served)
    assert index()["sessions"][0]["runtime"]["tmuxActive"] is True
    server.run("kill-session", "-t", "=agx-repo-main")
    until(lambda: index()["sessions"][0]["runtime"]["tmuxActive"] is False, "the end of the session")
    assert states() == {"main": "paused"}


def test_the_index_says_how_often_it_is_checked(daemon: Daemon, served: Path, server: Server, beats: None) -> None:
    daemon.dagentd("restart")
    dagentd("agx", "open", "--detached", cwd=served)

    def is_told() -> bool:
        """Once nothing that was under way writes over it."""
        if index()["syncInterval"] != "1s":
            (home() / "index.json").write_text(json.dumps({**index(), "syncInterval": "1s", "sessions": []}))
        return states() == {"main": "active"} and index()["syncInterval"] == "1s"

    until(is_told, "the check that the change itself asks for")
    server.run("kill-session", "-t", "=agx-repo-main")
    until(lambda: index()["sessions"][0]["runtime"]["tmuxActive"] is False, "the next check")
    assert index()["syncInterval"] == "1s"


def test_a_conversation_is_offered_and_goes_on_in_its_window(repo: Path, server: Server) -> None:
    dagentd("agx", "new", cwd=repo)
    dagentd("agx", "claude", "abc-1", cwd=repo)
    terminal = Terminal([sys.executable, "-m", "dagentd", "agx", "open", "--detached"], repo, os.environ)
    terminal.until("[y/N]")
    terminal.type("y\n")
    assert terminal.end() == 0 and "claude --resume abc-1" in terminal.text
    assert dagentd_json("agx", "show", cwd=repo)["claude"]["resumeInfo"]["lastResumeAttempt"]
    until(lambda: "claude --resume abc-1" in server.run("capture-pane", "-p", "-t", "=agx-repo-main:"), "the command")


def test_a_lock_of_another_program_is_waited_for_named_and_then_all_is_done(
    daemon: Daemon, served: Path, beats: None
) -> None:
    daemon.dagentd("restart")
    with subprocess.Popen(["sleep", "600"]) as other:
        lock = served / ".agx" / "sessions" / ".lock"
        lock.write_text(json.dumps({"pid": other.pid, "timestamp": "2999-01-01T00:00:00Z"}))
        git(served, "checkout", "-q", "-b", "side")
        until(
            lambda: any(f"process {other.pid} has held" in each["message"] for each in problems(daemon)),
            "the complaint",
        )
        assert current(served) == "main" and lock.exists()
        assert f"process {other.pid}" in dagentd("agx", "switch", "main", cwd=served, status=1)
        other.kill()
    until(lambda: states() == {"main": "paused", "side": "active"}, "what was waiting")
    until(lambda: problems(daemon) == [], "the end of the complaint")
