"""Files of older formats under the real daemon and without one: migrated by themselves, on demand, and taken back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dagentd.rpc.client import RpcError
from tests.conftest import FEATURE, SampleProject
from tests.e2e.daemon import Daemon, until
from tests.jobs.legacy_files import at, chat, lone_documents, task_session, write

PM = f"pm-feature-{FEATURE}"
DEV = f"dev-task-{FEATURE}-t1-in_dev"


def said(daemon: Daemon, session: str = PM) -> list[Any]:
    try:
        found = daemon.call("session.getMessages", sessionId=session, limit=100, includeInternal=True)["messages"]
    except RpcError:
        return []
    return [message["content"] for message in found]


def problems(daemon: Daemon) -> list[str]:
    return [each["message"] for each in daemon.status["problems"] if each["id"].startswith("migration")]


def test_the_daemon_migrates_what_it_finds_and_what_comes(daemon: Daemon, project: SampleProject) -> None:
    write(project.dagent / "chat.json", chat("plan", "yes"))
    daemon.run(project.root)
    until(lambda: said(daemon) == ["plan", "yes"], "the migration at the start")
    with daemon.client() as client, client.subscribe(types=["migration:done"]) as events:
        write(project.dagent / "nodes" / "t1" / "session.json", task_session("started"))
        until(lambda: said(daemon, DEV) == ["started"], "the migration of a new file in a new folder")
        event = next(each for each in events if each["sessionId"] == DEV)  # that of the start may come yet
        assert (event["added"], event["format"], event["action"]) == (1, "L2", "create")
        write(project.dagent / "chat.json", chat("plan", "yes", "more"))
        until(lambda: said(daemon) == ["plan", "yes", "more"], "what an older app added")
        assert next(each for each in events if each["sessionId"] == PM)["added"] == 1
    until(lambda: daemon.call("session.getContext", sessionId=DEV), "its context")
    write(project.dagent / "sessions" / "qa-old.json", {"type": "qa-task", "taskId": "t1", "messages": []})
    until(lambda: _found(daemon, "qa-old") == f"qa-task-{FEATURE}-t1-in_qa", "the old id")


def _found(daemon: Daemon, session: str) -> str:
    try:
        return str(daemon.call("session.get", sessionId=session)["id"])
    except RpcError:
        return ""


def test_a_migrated_session_of_an_ended_feature_is_archived(daemon: Daemon, project: SampleProject) -> None:
    feature = json.loads((project.dagent / "feature.json").read_bytes())
    write(project.dagent / "feature.json", {**feature, "status": "completed", "completedAt": at(50)})
    write(project.dagent / "chat.json", chat("plan"))
    daemon.run(project.root)
    until(lambda: _found(daemon, PM), "the migration")
    until(lambda: daemon.call("session.get", sessionId=PM)["status"] == "archived", "its end")


def test_so_it_is_without_a_daemon(daemon: Daemon, project: SampleProject) -> None:
    feature = json.loads((project.dagent / "feature.json").read_bytes())
    write(project.dagent / "feature.json", {**feature, "status": "completed", "completedAt": at(50)})
    write(project.dagent / "chat.json", chat("plan"))
    assert "to do" in daemon.dagentd("migrate", "--dry-run", cwd=project.root).splitlines()[0]
    daemon.dagentd("migrate", cwd=project.root)
    session = json.loads((project.dagent / "sessions" / f"session_{PM}.json").read_bytes())
    assert session["status"] == "archived"


def test_what_cannot_be_read_is_a_note_until_it_can(daemon: Daemon, project: SampleProject) -> None:
    (project.dagent / "chat.json").write_text("{")
    write(project.dagent / "nodes" / "t1" / "session.json", task_session("started"))
    daemon.run(project.root)
    until(lambda: problems(daemon), "the problem")
    assert said(daemon, DEV) == ["started"] and daemon.status["health"] == "ok"
    write(project.dagent / "chat.json", chat("plan"))
    until(lambda: said(daemon) == ["plan"] and not problems(daemon), "the migration once it is whole")


def test_it_is_asked_for_through_the_daemon(daemon: Daemon, project: SampleProject) -> None:
    daemon.configure("[migration]\nenabled = false\n")
    write(project.dagent / "chat.json", chat("plan", "yes"))
    daemon.run(project.root)
    planned = daemon.call("migration.plan", project=str(project.root))["files"]
    assert [(file["action"], file["messages"], file["format"]) for file in planned] == [("create", 2, "L1")]
    assert "make a session" in daemon.dagentd("migrate", str(project.root), "--dry-run")
    assert said(daemon) == []
    assert "session made" in daemon.dagentd("migrate", str(project.root))
    assert said(daemon) == ["plan", "yes"]
    assert "migrated already" in daemon.dagentd("migrate", str(project.root))
    assert "taken back" in daemon.dagentd("migrate", str(project.root), "--rollback")
    assert said(daemon) == [] and not list((project.dagent / "sessions").glob("*.json"))
    inside = {"path": str(project.dagent / "chat.json")}
    assert [file["added"] for file in daemon.call("migration.run", **inside)["files"]] == [2]
    assert said(daemon) == ["plan", "yes"]
    with pytest.raises(RpcError) as refused:
        daemon.call("migration.run", path="/etc")
    assert refused.value.code == -32001


def test_without_a_daemon(daemon: Daemon, project: SampleProject) -> None:
    before = {path: path.read_bytes() for path in project.dagent.rglob("*") if path.is_file()}
    for name, raw in lone_documents("hello").items():
        path = write(project.dagent / "sessions" / f"{name}_dev-1.json", raw)
        before[path] = path.read_bytes()
    (project.dagent / "chat.json").write_text("[3")
    printed = daemon.dagentd("migrate", "--json", cwd=project.worktree, status=1)
    files = {Path(file["path"]).name: file for file in json.loads(printed)["files"]}
    assert files["chat_dev-1.json"]["action"] == "rewrite" and files["chat.json"]["action"] == "failed"
    assert "hello" in daemon.dagentd("messages", "dev-1", "-C", str(project.root))
    (project.dagent / "chat.json").unlink()
    daemon.dagentd("migrate", str(project.dagent / "sessions"), "--rollback")
    assert {path: path.read_bytes() for path in before} == before
    assert "Nothing was migrated." in daemon.dagentd("migrate", "--rollback", cwd=project.root)
    assert "not of a rollback" in daemon.dagentd("migrate", "--rollback", "--dry-run", cwd=project.root, status=2)


@pytest.mark.parametrize("running", [False, True], ids=["alone", "daemon"])
def test_what_cannot_be_looked_into_is_not_empty(
    daemon: Daemon, project: SampleProject, tmp_path: Path, running: bool
) -> None:
    """It said that there is nothing to do, with exit status 0."""
    if running:
        daemon.run(project.root)
    (tmp_path / "elsewhere").mkdir()
    (project.dagent / "nodes").symlink_to(tmp_path / "elsewhere")
    for how in ([], ["--rollback"]):
        printed = daemon.dagentd("migrate", *how, cwd=project.root, status=1)
        assert "leads out of its worktree" in printed and "Nothing was migrated." not in printed


def test_run_once_migrates(daemon: Daemon, project: SampleProject) -> None:
    write(project.dagent / "chat.json", chat("plan", "yes"))
    printed = daemon.dagentd("run", "--once", str(project.root))
    assert "2 messages from chat.json" in printed
    assert "plan" in daemon.dagentd("messages", PM, "-C", str(project.root))
