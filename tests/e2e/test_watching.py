"""Files and folders that change, come, go and come back, under the real daemon."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dagentd import paths
from tests.adapters.watch.churning import churn
from tests.conftest import FEATURE, SampleProject, git
from tests.e2e.daemon import Daemon, bytes_written, until

PM = f"pm-feature-{FEATURE}"


def create(daemon: Daemon, project: SampleProject, feature: str = FEATURE) -> str:
    whose = {"type": "feature", "agentType": "pm", "featureId": feature}
    return str(daemon.call("session.getOrCreate", project=str(project.root), **whose)["id"])


def contents(daemon: Daemon, session: str = PM) -> list[str]:
    found = daemon.call("session.getMessages", sessionId=session, limit=1000)["messages"]
    return [message["content"] for message in found]


def write_chat(path: Path, *texts: str) -> None:
    """As the app does: the whole file, truncated and written."""
    messages = [
        {"id": f"m-{text}", "role": "user", "content": text, "timestamp": "2026-01-17T10:00:00.000Z"} for text in texts
    ]
    path.write_text(json.dumps({"messages": messages}))


def outside_session(dagent: Path, *texts: str) -> None:
    """A session that another program made."""
    (dagent / "sessions").mkdir(exist_ok=True)
    session = {"id": PM, "type": "feature", "agentType": "pm", "featureId": FEATURE, "status": "active"}
    (dagent / "sessions" / f"session_{PM}.json").write_text(json.dumps(session))
    write_chat(dagent / "sessions" / f"chat_{PM}.json", *texts)


def rest(daemon: Daemon) -> int:
    """How many jobs were done, once nothing more happens."""
    pid = daemon.pid

    def still() -> int | None:
        before = bytes_written(pid), daemon.status["queues"]["done"]
        time.sleep(0.7)  # longer than the settle time and a write of documents
        queues = daemon.status["queues"]
        quiet = not queues["waiting"] and not queues["running"] and queues["done"] == before[1]
        return before[1] + 1 if quiet else None

    return int(until(still, "rest")) - 1


@pytest.fixture
def served(daemon: Daemon, project: SampleProject) -> Daemon:
    daemon.run(project.root)
    return daemon


def test_what_another_program_writes_is_taken_in_by_itself(served: Daemon, project: SampleProject) -> None:
    create(served, project)
    chat = project.dagent / "sessions" / f"chat_{PM}.json"
    until(chat.exists, "the chat")
    found = json.loads(chat.read_text())
    found["messages"].append({"id": "m1", "role": "user", "content": "theirs", "timestamp": "2026-01-17T10:00:00Z"})
    chat.write_text(json.dumps(found))
    until(lambda: contents(served) == ["theirs"], "the message")


def test_our_own_writes_ask_for_nothing(served: Daemon, project: SampleProject) -> None:
    create(served, project)
    done = rest(served)
    for number in range(5):
        served.call("session.addMessage", sessionId=PM, role="user", content=f"{number}")
    served.call("session.updateCheckpoint", sessionId=PM, checkpoint={"summary": {"decisions": ["yes"]}})
    assert rest(served) == done


def test_one_outside_write_is_one_look(served: Daemon, project: SampleProject) -> None:
    """And before it a glance at what was added, which does not wait until the file has settled."""
    create(served, project)
    done = rest(served)
    write_chat(project.dagent / "sessions" / f"chat_{PM}.json", "theirs")
    until(lambda: contents(served) == ["theirs"], "the message")
    assert rest(served) == done + 2


def test_what_is_added_is_there_before_the_chat_has_settled(daemon: Daemon, project: SampleProject) -> None:
    """Its writer clears it as soon as we have it, which was long before we had it at all: eight of eight were lost that
    were cleared 100 ms after they were added."""
    daemon.configure("[watch]\nsettle_ms = 60000\nceiling_ms = 600000\n")
    outside_session(project.dagent, "first")
    sessions = project.dagent / "sessions"
    journal, chat = sessions / f"history_{PM}.jsonl", sessions / f"chat_{PM}.json"
    daemon.run(project.root)
    until(lambda: b"dagentd" in chat.read_bytes(), "the first look")

    def taken_in(said: str) -> bool:
        write_chat(chat, said)  # once more: it is never quiet
        return said.encode() in journal.read_bytes()

    for number in range(4):
        until(partial(taken_in, f"said {number}"), "the message", 20)
        write_chat(chat)


def test_a_worktree_is_picked_up_and_forgotten_and_picked_up_again(served: Daemon, project: SampleProject) -> None:
    other = project.root / ".dagent-worktrees" / "other"
    for round in ("first", "second"):
        git(project.root, "worktree", "add", "-q", "-B", "other", str(other))
        (other / ".dagent").mkdir()
        (other / ".dagent" / "feature.json").write_text(json.dumps({"id": f"f-{round}"}))
        sessions = other / ".dagent" / "sessions"
        sessions.mkdir()
        (sessions / "session_s1.json").write_text(json.dumps({"id": "s1", "featureId": f"f-{round}"}))
        write_chat(sessions / "chat_s1.json", round)
        until((sessions / "history_s1.jsonl").exists, "the journal")
        rest(served)
        git(project.root, "worktree", "remove", "--force", str(other))
        until(lambda: "other" not in served.status["projects"][0]["worktrees"], "the removal")
        rest(served)
        assert not other.exists()
    assert served.status["problems"] == [] and served.status["queues"]["failing"] == []


def test_the_last_worktree_goes_and_another_comes(served: Daemon, project: SampleProject) -> None:
    create(served, project)
    rest(served)
    git(project.root, "worktree", "remove", "--force", str(project.worktree))
    assert not (project.root / ".git" / "worktrees").exists()
    shutil.rmtree(project.root / ".dagent-worktrees")
    rest(served)
    assert not (project.root / ".dagent-worktrees").exists()
    git(project.root, "worktree", "add", "-q", str(project.worktree), f"feature/{FEATURE}")
    project.dagent.mkdir()
    outside_session(project.dagent, "again")
    until(lambda: (project.dagent / "sessions" / f"history_{PM}.jsonl").exists(), "the journal")


def test_a_tree_that_is_removed_and_made_again(served: Daemon, project: SampleProject) -> None:
    create(served, project)
    rest(served)
    shutil.rmtree(project.dagent)
    rest(served)
    assert not project.dagent.exists()
    project.dagent.mkdir()
    outside_session(project.dagent, "anew")
    until(lambda: "anew" in contents(served), "the new session")
    write_chat(project.dagent / "sessions" / f"chat_{PM}.json", "anew", "more")
    until(lambda: contents(served) == ["anew", "more"], "hearing of it")


def test_a_tree_that_is_moved_in(served: Daemon, project: SampleProject, tmp_path: Path) -> None:
    shutil.rmtree(project.dagent)
    rest(served)
    ready = tmp_path / "ready"
    ready.mkdir()
    outside_session(ready, "moved")
    ready.rename(project.dagent)
    until(lambda: (project.dagent / "sessions" / f"history_{PM}.jsonl").exists(), "the journal")
    write_chat(project.dagent / "sessions" / f"chat_{PM}.json", "moved", "more")
    until(lambda: contents(served) == ["moved", "more"], "hearing of it")


def test_a_worktree_that_is_moved_is_followed(served: Daemon, project: SampleProject) -> None:
    create(served, project)
    rest(served)
    target = project.root / ".dagent-worktrees" / "elsewhere"
    git(project.root, "worktree", "move", str(project.worktree), str(target))
    until(lambda: "elsewhere" in served.status["projects"][0]["worktrees"], "the new place")
    chat = target / ".dagent" / "sessions" / f"chat_{PM}.json"
    write_chat(chat, "there")
    until(lambda: contents(served) == ["there"], "hearing of it")
    assert not project.worktree.exists()


@pytest.mark.parametrize("shape", ["features/{0}", "features/backlog/{0}", "features/archived/{0}"])
def test_nested_features_and_their_sessions_come(served: Daemon, project: SampleProject, shape: str) -> None:
    feature = project.dagent / shape.format("f-new")
    session = feature / "sessions" / "s1"
    session.mkdir(parents=True)
    (feature / "feature.json").write_text(json.dumps({"id": "f-new"}))
    (session / "session.json").write_text(json.dumps({"id": "s1", "featureId": "f-new"}))
    write_chat(session / "chat.json", "first")
    until((session / "history.jsonl").exists, "the journal")
    write_chat(session / "chat.json", "first", "second")
    until(lambda: contents(served, "s1") == ["first", "second"], "hearing of it")


def test_the_registry_is_watched(daemon: Daemon, project: SampleProject) -> None:
    daemon.start()
    assert daemon.status["projects"] == []
    daemon.register(project.root)
    until(lambda: [each["root"] for each in daemon.status["projects"]] == [str(project.root)], "the project")


def test_a_project_may_switch_watching_off(daemon: Daemon, project: SampleProject) -> None:
    (project.root / ".dagent").mkdir()
    (project.root / ".dagent" / "config.toml").write_text("[watch]\nenabled = false\n")
    daemon.run(project.root)
    create(daemon, project)
    done = rest(daemon)
    write_chat(project.dagent / "sessions" / f"chat_{PM}.json", "unheard")
    assert rest(daemon) == done
    daemon.call("project.scan", project=str(project.root))
    assert contents(daemon) == ["unheard"]


# --- storms -------------------------------------------------------------------------------------------------------


def is_heard(daemon: Daemon, project: SampleProject, text: str) -> None:
    outside_session(project.dagent, text)
    until(lambda: text in contents(daemon), "hearing of it")


def test_a_burst_that_nobody_could_follow(served: Daemon, project: SampleProject) -> None:
    """The daemon is stopped meanwhile, so that the kernel's queue is too short: that is found out, told, and mended."""
    create(served, project)
    rest(served)
    pid = served.pid
    os.kill(pid, signal.SIGSTOP)
    for number in range(60_000):
        os.close(os.open(project.dagent / "sessions" / f"{number}.tmp", os.O_CREAT | os.O_WRONLY))
    write_chat(project.dagent / "sessions" / f"chat_{PM}.json", "in the storm")
    os.kill(pid, signal.SIGCONT)
    until(lambda: contents(served) == ["in the storm"], "what was lost")
    assert any("lost" in each["message"] for each in served.status["watches"]["incidents"])
    is_heard(served, project, "after it")


def test_folders_made_renamed_and_removed_by_many(served: Daemon, project: SampleProject) -> None:
    create(served, project)
    places = [project.dagent, project.dagent / "sessions", project.dagent / "nodes", project.root / ".dagent-worktrees"]
    with churn(places, processes=3, seconds=2) as goes_on:
        while goes_on():
            assert served.status["pid"]
    is_heard(served, project, "after it")
    assert served.status["queues"]["failing"] == []


def test_an_entry_that_cannot_even_be_looked_at_makes_nobody_deaf(served: Daemon, project: SampleProject) -> None:
    create(served, project)
    rest(served)
    (project.worktree / "CLAUDE.md").symlink_to("x" * 300)  # longer than a name may be: stat() refuses it
    rest(served)
    is_heard(served, project, "after it")


# --- git ----------------------------------------------------------------------------------------------------------


class Heard:
    """The events of one type, as they come."""

    def __init__(self, daemon: Daemon, *types: str) -> None:
        self._command = daemon.command("events", *(f"--type={each}" for each in types), stderr=None)
        assert self._command.stdout is not None
        self._lines = self._command.stdout
        os.set_blocking(self._lines.fileno(), False)
        self.events: list[dict[str, Any]] = []
        until(lambda: daemon.status["connections"] > 1, "the subscription")

    def __call__(self) -> list[dict[str, Any]]:
        for line in iter(self._lines.readline, ""):
            self.events.append(json.loads(line))
        return self.events


def commit(worktree: Path, subject: str) -> str:
    git(worktree, "commit", "-q", "--allow-empty", "-m", subject)
    return git(worktree, "rev-parse", "HEAD")


def test_a_commit_is_heard_once_and_of_its_worktree_alone(served: Daemon, project: SampleProject) -> None:
    heard = Heard(served, "git:changed")
    rest(served)  # only what happens after the first look is news
    made = commit(project.worktree, "One")
    until(heard, "the commit")
    rest(served)
    assert [(each["worktree"], each["commit"]) for each in heard()] == [(str(project.worktree), made)]
    assert heard()[0]["branch"] == f"feature/{FEATURE}" and heard()[0]["featureId"] == FEATURE


def test_a_rebase_of_a_hundred_commits_is_one_change(served: Daemon, project: SampleProject) -> None:
    for number in range(100):
        commit(project.worktree, f"Commit {number}")
    (project.root / "other.txt").write_text("")
    git(project.root, "add", "other.txt")
    git(project.root, "commit", "-q", "-m", "Main goes on")
    rest(served)
    heard = Heard(served, "git:changed")
    git(project.worktree, "rebase", "-q", "--keep-empty", "main")
    head = git(project.worktree, "rev-parse", "HEAD")
    until(lambda: heard() and heard()[-1]["commit"] == head, "the end of the rebase")
    rest(served)
    moves = [(each["branch"], each["commit"]) for each in heard() if each["worktree"] == str(project.worktree)]
    assert moves == [(f"feature/{FEATURE}", head)]


def test_a_rebase_that_stops_is_told_of(served: Daemon, project: SampleProject) -> None:
    (project.worktree / "README.md").write_text("theirs\n")
    git(project.worktree, "commit", "-q", "-a", "-m", "Ours")
    (project.root / "README.md").write_text("main's\n")
    git(project.root, "commit", "-q", "-a", "-m", "Theirs")
    rest(served)
    heard = Heard(served, "git:changed")
    stopped = subprocess.run(["git", "rebase", "-q", "main"], cwd=project.worktree, capture_output=True, check=False)
    assert stopped.returncode != 0
    until(lambda: any(each["branch"] is None for each in heard()), "the conflict")
    git(project.worktree, "rebase", "--abort")
    until(lambda: heard()[-1]["branch"] == f"feature/{FEATURE}", "the end")


# --- ends ---------------------------------------------------------------------------------------------------------


def test_a_session_is_archived_when_its_feature_ends_and_not_again(served: Daemon, project: SampleProject) -> None:
    create(served, project)
    path = project.dagent / "feature.json"

    def status() -> Any:
        return served.call("session.get", sessionId=PM)["status"]

    path.write_text(json.dumps({**json.loads(path.read_text()), "status": "completed"}))
    until(lambda: status() == "archived", "the end")
    served.call("session.addMessage", sessionId=PM, role="user", content="One more thing")
    path.write_text(json.dumps({**json.loads(path.read_text()), "description": "Well done"}))
    rest(served)
    assert status() == "active"


def test_a_session_whose_worktree_is_long_gone_is_removed(daemon: Daemon, project: SampleProject) -> None:
    daemon.run(project.root)
    create(daemon, project)
    git(project.root, "worktree", "remove", "--force", str(project.worktree))
    kept = project.root / ".git" / "dagentd" / "kept"
    daemon.call("daemon.shutdown")
    until(lambda: not daemon.processes(), "the end")
    (entry,) = kept.glob("*.jsonl")
    os.utime(entry, times=(0, datetime(2025, 7, 1, tzinfo=UTC).timestamp()))
    days = {"lastDay": "2026-01-01", "days": {entry.name: 179}}
    (kept.parent / "gone.json").write_text(json.dumps(days))
    paths.config_file().parent.mkdir(parents=True, exist_ok=True)
    paths.config_file().write_text("[archive]\nkeep_days = 180\n")
    daemon.run(project.root)
    until(lambda: not list(kept.iterdir()), "the removal")


@pytest.mark.parametrize("target", ["{out}", ".dagent"], ids=["out of the worktree", "to itself"])
def test_a_tree_that_becomes_a_link(served: Daemon, project: SampleProject, tmp_path: Path, target: str) -> None:
    """Nothing is served or written there, which status says, until there is a folder again."""
    create(served, project)
    rest(served)
    project.dagent.rename(tmp_path / "out")
    project.dagent.symlink_to(target.format(out=tmp_path / "out"))
    until(lambda: [each["path"] for each in served.status["problems"]] == [str(project.dagent)], "the problem")
    rest(served)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")}
    (project.worktree / "CLAUDE.md").write_text("- New.\n")
    commit(project.worktree, "Two")
    rest(served)
    assert served.status["queues"]["failing"] == []
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")} == before
    project.dagent.unlink()
    (tmp_path / "out").rename(project.dagent)
    until(lambda: "- New." in (project.dagent / "sessions" / f"context_{PM}.json").read_text(), "the context")
    assert served.status["problems"] == []


def test_documents_that_cannot_be_written_hold_up_no_end(daemon: Daemon, project: SampleProject) -> None:
    """They are tried again less and less often, up to a minute later; the journal holds what they would say."""
    daemon.run(project.root)
    create(daemon, project)
    rest(daemon)
    temp = project.root / ".git" / "dagentd" / "temp"
    temp.rmdir()
    temp.write_text("in the way")
    daemon.call("session.addMessage", sessionId=PM, role="user", content="Hello")
    for _ in range(9):  # each is one more failure, and twice the time to the next
        daemon.call("project.scan", project=str(project.root))
    assert "stopped" in daemon.dagentd("stop")
