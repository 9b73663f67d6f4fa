"""A paused project or session: nothing happens by itself, nothing is lost, and all of it is done afterwards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dagentd.rpc.client import RpcError
from tests.conftest import FEATURE, SampleProject, git
from tests.e2e.daemon import Daemon, until
from tests.e2e.dagentd import dagentd, dagentd_json

PM, QA, DEV = f"pm-feature-{FEATURE}", f"qa-feature-{FEATURE}", f"dev-task-{FEATURE}-t1-in_dev"
WORDS = "We talked about the weather and the colour of the sky for a good while. " * 4


class Work:
    """A served project with two sessions of a feature and one of a task."""

    def __init__(self, daemon: Daemon, project: SampleProject) -> None:
        self.daemon, self.project, self.root = daemon, project, str(project.root)
        daemon.configure("[budget]\nlimit = 4000\nprompt_buffer = 100\n")
        self.process = daemon.run(project.root)
        for role in ("pm", "qa"):
            self.make(role)
        self.make("dev", type="task", taskId="t1", taskState="in_dev")
        self.daemon.call("session.addMessage", sessionId=PM, role="user", content="Hello")
        until(lambda: all(map(self.commit_of, (PM, QA, DEV))), "the contexts")
        self.rest()

    def make(self, role: str, **more: str) -> Any:
        given = {"project": self.root, "featureId": FEATURE, "type": "feature", "agentType": role}
        return self.daemon.call("session.getOrCreate", **given | more)

    def document(self, name: str, session: str) -> Path:
        return self.project.dagent / "sessions" / f"{name}_{session}.json"

    def commit_of(self, session: str) -> str | None:
        """The commit that the context of a session names."""
        found = self.daemon.call("session.getContext", sessionId=session)
        return None if found is None else str(found["gitCommit"])

    def status_of(self, session: str) -> str:
        return str(self.daemon.call("session.get", sessionId=session)["status"])

    def total(self, session: str) -> int:
        return int(self.daemon.call("session.getMessages", sessionId=session)["total"])

    def rest(self) -> None:
        """Until nothing runs and nothing waits."""
        until(lambda: not any(self.daemon.status["queues"][name] for name in ("waiting", "running")), "rest")

    def change_everything(self) -> str:
        """What would be migrated, renewed, archived, compacted; the commit that HEAD is at then."""
        (self.project.dagent / "chat.json").write_text(
            json.dumps({"entries": [{"type": "user", "text": "from before", "timestamp": "2025-01-01T00:00:00Z"}]})
        )
        with self.daemon.client() as client, client.subscribe(project=self.root) as events:
            for number in range(40):
                client.call("session.addMessage", sessionId=QA, role="user", content=f"{number}: {WORDS}")
            next(event for event in events if event["type"] == "session:budget" and event["level"] == 0.9)
            git(self.project.worktree, "commit", "-q", "--allow-empty", "-m", "More")
            next(event for event in events if event["type"] == "git:changed")
        task = self.project.dagent / "nodes" / "t1" / "task.json"
        task.write_text(json.dumps(json.loads(task.read_text()) | {"status": "completed", "completedAt": LATER}))
        chat = json.loads(self.document("chat", PM).read_text())
        chat["messages"].append({"id": "app-1", "role": "user", "content": "of the app", "timestamp": LATER})
        self.document("chat", PM).write_text(json.dumps(chat))
        until(lambda: "of the app" in self.history(PM), "what the app wrote")
        self.daemon.call("project.scan", project=self.root)
        self.rest()
        return git(self.project.worktree, "rev-parse", "HEAD")

    def history(self, session: str) -> list[Any]:
        return [one["content"] for one in self.daemon.call("session.getHistory", sessionId=session)["messages"]]


LATER = "2099-01-01T00:00:00.000Z"


@pytest.fixture
def work(daemon: Daemon, project: SampleProject, beats: None) -> Work:
    return Work(daemon, project)


def test_a_paused_project_is_left_alone_but_nothing_is_lost(work: Work) -> None:
    root, before = work.project.root, work.commit_of(PM)
    assert dagentd("pause", cwd=root) == f"{root} is paused; `dagentd resume` ends it.\n"
    after = work.change_everything()
    assert "from before" not in work.history(PM)
    assert {work.commit_of(PM), work.commit_of(QA)} == {before} != {after}
    assert work.status_of(DEV) == "active"
    assert work.total(QA) == 40
    assert work.daemon.call("session.buildRequest", sessionId=QA, userMessage="x")["totalTokens"] > 4000
    assert work.total(QA) == 40
    assert dagentd("resume", cwd=root) == f"{root} is no longer paused.\n"
    until(lambda: "from before" in work.history(PM), "the migration")
    until(lambda: work.commit_of(PM) == work.commit_of(QA) == after, "the contexts")
    until(lambda: work.status_of(DEV) == "archived", "the archive")
    until(lambda: work.total(QA) < 40, "the compaction")
    assert dagentd("resume", cwd=root) == f"{root} was not paused.\n"


def test_a_paused_session_is_left_alone_and_the_others_are_not(work: Work) -> None:
    root, before = work.project.root, work.commit_of(PM)
    assert dagentd("pause", QA, cwd=root) == f"{QA} is paused; `dagentd resume {QA}` ends it.\n"
    after = work.change_everything()
    assert "from before" in work.history(PM)
    assert (work.commit_of(PM), work.commit_of(QA)) == (after, before)
    assert work.status_of(DEV) == "archived"
    assert work.total(QA) == 40
    dagentd("resume", QA, cwd=root)
    until(lambda: work.commit_of(QA) == after, "the context")
    until(lambda: work.total(QA) < 40, "the compaction")


def test_migration_and_archive_of_paused_sessions_wait(work: Work) -> None:
    for session in (PM, DEV):
        dagentd("pause", session, cwd=work.project.root)
    work.change_everything()
    assert "from before" not in work.history(PM)
    assert work.status_of(DEV) == "active"
    until(lambda: work.total(QA) < 40, "the compaction of another")
    for session in (PM, DEV):
        dagentd("resume", session, cwd=work.project.root)
    until(lambda: "from before" in work.history(PM), "the migration")
    until(lambda: work.status_of(DEV) == "archived", "the archive")


def test_what_is_asked_for_is_done_all_the_same(work: Work) -> None:
    root, before = work.project.root, work.commit_of(PM)
    dagentd("pause", cwd=root)
    after = work.change_everything()
    assert work.make("dev")["status"] == "active"
    assert work.commit_of(f"dev-feature-{FEATURE}") == after
    assert work.commit_of(PM) == before
    dagentd("context", PM, "--rebuild", cwd=root)
    assert (work.commit_of(PM), work.commit_of(QA)) == (after, before)
    assert "left the chat" in dagentd("compact", QA, cwd=root)
    dagentd("archive", QA, cwd=root)
    assert work.status_of(QA) == "archived"
    dagentd("add", PM, "more", cwd=root)
    dagentd("migrate", cwd=root)
    assert "from before" in work.history(PM)


def test_it_outlives_the_daemon_and_ends_by_itself(work: Work) -> None:
    root = work.project.root
    dagentd("pause", QA, "--for", "1h30m", cwd=root)
    work.process.kill()
    work.process.wait()
    assert dagentd("pause", "--for", "3s", cwd=root) == f"{root} is paused for 3 s; `dagentd resume` ends it.\n"
    work.daemon.run(root)
    [told] = work.daemon.status["projects"]
    assert told["paused"]["until"] and told["pausedSessions"] == [QA]
    until(lambda: work.daemon.status["projects"][0]["paused"] is None, "the end of it")
    [other] = [each for each in dagentd_json("sessions", cwd=root)["sessions"] if "paused" in each]
    assert (other["id"], other["paused"]["of"]) == (QA, "session")
    paused = root / ".git" / "dagentd" / "paused.json"
    until(lambda: "project" not in json.loads(paused.read_text()), "its end on disk")


def test_it_shows(work: Work) -> None:
    root = work.project.root
    dagentd("pause", QA, "--for", "1h30m", cwd=root)
    assert "  serves it; 1 session paused\n" in dagentd("status", cwd=root)
    listed = {line.split()[0]: line for line in dagentd("sessions", cwd=root).splitlines()}
    assert "active, paused, 1 h 29 min left" in listed[QA] and "paused" not in listed[PM]
    assert f" since now, 1 h 29 min left; `dagentd resume {QA}` ends it\n" in dagentd("show", QA, cwd=root)
    assert dagentd_json("show", QA, cwd=root)["session"]["paused"]["of"] == "session"
    dagentd("pause", ".", cwd=root)
    assert "  paused; 1 session paused\n" in dagentd("status", cwd=root)
    assert " with its project, since now; `dagentd resume` ends it\n" in dagentd("show", PM, cwd=root)
    assert "It is paused: only what others wrote" in dagentd("run", "--once", cwd=root)
    told = dagentd("resume", QA, cwd=root)
    assert told == f"{QA} is no longer paused.\nIts project still is: `dagentd resume` ends that.\n"
    for session in work.daemon.call("session.list")["sessions"]:
        assert session["paused"]["of"] == "project"


def test_on_the_socket(work: Work) -> None:
    call, where = work.daemon.call, str(work.project.worktree)
    assert call("project.pause", project=where)["paused"]["until"] is None
    assert call("session.pause", sessionId=PM, seconds=60)["paused"]["until"]
    assert call("session.resume", sessionId=PM)["paused"]["of"] == "project"
    assert call("project.resume", project=where) == {"ended": True, "paused": None}
    assert call("project.resume", project=where) == {"ended": False, "paused": None}
    for wrong in ({"sessionId": "none"}, {"sessionId": PM, "seconds": 0}, {"sessionId": PM, "seconds": 10**12}):
        with pytest.raises(RpcError):
            call("session.pause", **wrong)


def test_what_is_meant_by_a_name(work: Work, tmp_path: Path) -> None:
    root = work.project.root
    assert dagentd("pause", str(work.project.worktree), cwd=tmp_path).startswith(f"{root} is paused;")
    dagentd("resume", str(root), cwd=tmp_path)
    (root / QA).mkdir()
    assert dagentd("pause", QA, cwd=root).startswith(f"{QA} is paused;")
    assert dagentd("pause", f"./{QA}", cwd=root).startswith(f"{root} is paused;")
    assert "neither a session here nor a path" in dagentd("pause", "nonsense", cwd=root, status=1)
    assert "is not in a git repository" in dagentd("pause", cwd=tmp_path, status=1)
    for wrong in ("", "1", "h", "1x", "1h2", "0s", "-1h"):
        assert "is no time" in dagentd("pause", f"--for={wrong}", cwd=root, status=2)
    assert "at most ten years" in dagentd("pause", "--for", "999999999d", cwd=root, status=1)


def test_nothing_of_it_is_left_by_forget_and_remove(work: Work) -> None:
    root, paused = work.project.root, work.project.root / ".git" / "dagentd" / "paused.json"
    dagentd("pause", QA, cwd=root)
    dagentd("forget", QA, "--yes", cwd=root)
    assert not paused.exists()
    work.process.terminate()
    work.process.wait()
    dagentd("pause", cwd=root)
    assert paused.exists()
    paused.write_text("damaged")
    assert dagentd("resume", cwd=root) == f"{root} is no longer paused.\n"
    dagentd("pause", cwd=root)
    dagentd("remove", "--purge", cwd=root)
    assert not paused.parent.exists()


def test_one_that_filled_up_meanwhile_is_compacted_then(work: Work) -> None:
    """Although nothing is added to it any more, and all of it was looked at before."""
    with work.daemon.client() as client, client.subscribe(sessionId=QA) as events:
        client.call("session.pause", sessionId=QA)
        for number in range(40):
            client.call("session.addMessage", sessionId=QA, role="user", content=f"{number}: {WORDS}")
        next(event for event in events if event["type"] == "session:budget" and event["level"] == 0.9)
    for _ in range(2):
        work.rest()
        work.daemon.call("project.scan", project=work.root)
    work.rest()
    assert work.total(QA) == 40
    work.daemon.call("session.resume", sessionId=QA)
    until(lambda: work.total(QA) < 40, "the compaction")


def test_agx_rests_too(work: Work) -> None:
    root = work.project.root
    dagentd("agx", "new", cwd=root)
    dagentd("pause", cwd=root)
    with work.daemon.client() as client, client.subscribe(types=["git:changed"]) as events:
        git(root, "checkout", "-q", "-b", "topic")
        next(event for event in events if event["branch"] == "topic")
    work.rest()
    topic = root / ".agx" / "sessions" / "topic.json"
    assert not topic.exists()
    dagentd("resume", cwd=root)
    until(topic.exists, "the session of the branch")
