"""`init`, `remove`, the registry, and projects that others write to, with the real daemon."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dagentd.rpc.client import RpcError
from tests.conftest import FEATURE, SampleProject, git
from tests.e2e.daemon import Daemon, until
from tests.patience import patience

PM = f"pm-feature-{FEATURE}"
OTHER = """
import sys, time
from pathlib import Path
from dagentd.adapters import git
from dagentd.store.journal.index import Index
from dagentd.store.store import Store
store = Store(git.project_at(Path(sys.argv[1])), Index(None))
session = store.maker.get_or_create("feature", "pm", "feat-login")
session.add([{"role": "user", "content": "theirs"}])
print("holds", flush=True)
for line in sys.stdin:
    session.add([{"role": "user", "content": line.strip()}])
"""


def roots(daemon: Daemon) -> list[str]:
    return [each["root"] for each in daemon.call("project.list")["projects"]]


def whose(root: Path) -> dict[str, str]:
    return {"project": str(root), "type": "feature", "agentType": "pm", "featureId": FEATURE}


def create(daemon: Daemon, root: Path) -> Any:
    return daemon.call("session.getOrCreate", **whose(root))


def refusal(daemon: Daemon, method: str, **params: Any) -> int:
    with pytest.raises(RpcError) as refused:
        daemon.call(method, **params)
    return refused.value.code


def tell(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()


@pytest.mark.parametrize("before", [None, b"*.o\n.dagent/\nno newline"])
def test_init_and_remove_leave_no_trace_in_the_repository(
    daemon: Daemon, project: SampleProject, before: bytes | None
) -> None:
    exclude = project.root / ".git" / "info" / "exclude"
    exclude.parent.mkdir(exist_ok=True)
    exclude.unlink(missing_ok=True)
    if before is not None:
        exclude.write_bytes(before)
    said = daemon.dagentd("init", cwd=project.worktree)
    assert f"{project.root} is registered" in said
    assert f"(process {daemon.pid})" in said
    assert roots(daemon) == [str(project.root)], "served as soon as init has ended"
    assert git(project.root, "status", "--porcelain", "--ignored").splitlines() == ["!! .dagent-worktrees/"]
    daemon.dagentd("init", cwd=project.root)
    assert "dagentd stopped" in daemon.dagentd("remove", cwd=project.worktree)
    assert (exclude.read_bytes() if exclude.exists() else None) == before
    assert daemon.processes() == []
    assert "is not registered" in daemon.dagentd("remove", cwd=project.root, status=1)


def content(folder: Path) -> dict[str, bytes | None]:
    every = sorted(folder.rglob("*"))
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in every}


def test_remove_leaves_the_git_folder_as_it_was(daemon: Daemon, project: SampleProject) -> None:
    before = content(project.root / ".git")
    daemon.dagentd("init", cwd=project.root)
    daemon.call("session.getOrCreate", project=str(project.root), type="feature", agentType="pm",
                featureId=project.feature)  # fmt: skip
    daemon.call("session.addMessage", sessionId=PM, role="user", content="Hello")
    assert "sessions --gone" not in daemon.dagentd("remove", cwd=project.root)
    assert content(project.root / ".git") == before
    assert "Hello" in daemon.dagentd("messages", PM, cwd=project.root)


def test_what_was_kept_of_sessions_that_are_gone_stays_until_it_is_purged(
    daemon: Daemon, project: SampleProject
) -> None:
    daemon.dagentd("init", cwd=project.root)
    daemon.call("session.getOrCreate", project=str(project.root), type="feature", agentType="pm",
                featureId=project.feature)  # fmt: skip
    git(project.root, "worktree", "remove", "--force", str(project.worktree))
    own = project.root / ".git" / "dagentd"
    said = daemon.dagentd("remove", cwd=project.root)
    assert "1 stay" in said and "dagentd remove --purge" in said
    assert {path.name for path in own.iterdir()} <= {"kept", "gone.json"}
    assert PM in daemon.dagentd("sessions", "--gone", cwd=project.root)
    assert "Add --yes." in daemon.dagentd("remove", "--purge", cwd=project.root, status=1)
    daemon.dagentd("remove", "--purge", "--yes", cwd=project.root)
    assert not own.exists()
    assert "is not registered" in daemon.dagentd("remove", cwd=project.root, status=1)


def test_a_disk_that_is_full_is_told_and_remove_can_be_run_again(daemon: Daemon, project: SampleProject) -> None:
    before = content(project.root / ".git")
    daemon.dagentd("init", cwd=project.root)

    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))  # less than git's own info/exclude

    refused = daemon.command("remove", cwd=project.root, preexec_fn=little_room)
    said = refused.communicate(timeout=patience())[0]
    assert refused.returncode == 1 and "larger than allowed" in said and "can be run again" in said
    daemon.dagentd("remove", cwd=project.root)
    assert content(project.root / ".git") == before


def test_what_another_project_has_in_the_same_git_folder_stays(daemon: Daemon, repo: Path, tmp_path: Path) -> None:
    (repo / ".git").rename(tmp_path / "apart")
    (repo / ".git").write_text(f"gitdir: {tmp_path / 'apart'}\n")
    git(repo, "worktree", "add", "-q", str(tmp_path / "other"))
    daemon.dagentd("init", str(repo))
    before = content(tmp_path / "apart" / "hooks")
    daemon.dagentd("init", str(tmp_path / "other"))
    assert str(repo) in daemon.dagentd("remove", str(tmp_path / "other"))
    assert content(tmp_path / "apart" / "hooks") == before and (tmp_path / "apart" / "dagentd" / "spool").is_dir()
    assert roots(daemon) == [str(repo)]
    daemon.dagentd("remove", str(repo))
    assert not (tmp_path / "apart" / "dagentd").exists()


def test_a_daemon_that_goes_on_keeps_what_it_needs(daemon: Daemon, project: SampleProject) -> None:
    daemon.dagentd("init", cwd=project.root)
    daemon.dagentd("stop")
    daemon.run(project.root)
    assert "all the same" in daemon.dagentd("remove", "--purge", cwd=project.root)
    assert daemon.call("project.list")["projects"][0]["readOnly"] is False
    assert (project.root / ".git" / "dagentd" / "lock").exists()


def test_a_running_daemon_follows_and_ends_with_its_last_project(daemon: Daemon, repo: Path, tmp_path: Path) -> None:
    second = tmp_path / "second"
    git(tmp_path, "init", "-q", str(second))
    daemon.dagentd("init", str(repo))
    pid = daemon.pid
    daemon.dagentd("init", str(second))
    assert roots(daemon) == [str(repo), str(second)]
    listed = json.loads(daemon.dagentd("projects", "--json"))["projects"]
    assert [each["root"] for each in listed] == [str(repo), str(second)]
    daemon.dagentd("remove", str(repo))
    assert roots(daemon) == [str(second)]
    assert daemon.pid == pid
    assert "It was the last project" in daemon.dagentd("remove", str(second))
    daemon.ends(pid)


@pytest.mark.usefixtures("beats")
def test_a_registry_that_is_changed_or_damaged_is_followed_by_itself(daemon: Daemon, repo: Path) -> None:
    daemon.run()
    assert roots(daemon) == []
    daemon.register(repo)
    until(lambda: roots(daemon) == [str(repo)], "the new project")
    registry = daemon.state / "projects.json"
    registry.write_text("{")
    until(lambda: daemon.status["health"] == "degraded", "the notice")
    assert daemon.status["problems"][0]["path"] == str(registry)
    assert roots(daemon) == [str(repo)], "what it served it serves on"
    daemon.register()
    until(lambda: roots(daemon) == [], "the end of the project")
    until(lambda: daemon.status["health"] == "ok", "the end of the problem")


@pytest.mark.usefixtures("beats")
def test_a_moved_project_is_found_again_by_init(daemon: Daemon, project: SampleProject, tmp_path: Path) -> None:
    daemon.dagentd("init", str(project.root))
    create(daemon, project.root)
    daemon.call("session.addMessage", sessionId=PM, role="user", content="before")
    moved = tmp_path / "moved"
    project.root.rename(moved)
    until(lambda: daemon.status["health"] == "degraded", "the notice")
    assert "not there; if it was moved" in " ".join(daemon.dagentd("projects").split())
    daemon.dagentd("init", str(moved))
    assert roots(daemon) == [str(moved)]
    until(lambda: daemon.status["health"] == "ok", "that nothing is missing any more")
    assert daemon.call("session.getHistory", sessionId=PM)["messages"][0]["content"] == "before"
    assert len(json.loads(daemon.dagentd("projects", "--json"))["projects"]) == 1


@pytest.mark.usefixtures("beats")
def test_a_project_that_was_deleted_is_removed_by_the_path_it_had(daemon: Daemon, repo: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    git(tmp_path, "init", "-q", str(other))
    daemon.dagentd("init", str(repo))
    daemon.dagentd("init", str(other))
    other.rename(tmp_path / "gone")
    until(lambda: daemon.status["health"] == "degraded", "the notice")
    daemon.dagentd("remove", str(other))
    until(lambda: daemon.status["health"] == "ok", "that nothing is missing any more")
    assert roots(daemon) == [str(repo)]


def test_what_cannot_be_removed_is_looked_for_in_the_list(daemon: Daemon, tmp_path: Path) -> None:
    """And not made a repository first."""
    for path in (tmp_path, tmp_path / "missing"):
        told = daemon.dagentd("remove", str(path), status=1)
        assert told == f"dagentd: {path}: is not in a git repository, and not registered\nTry: dagentd projects\n"


def test_remove_leaves_a_daemon_alone_that_was_given_its_projects(daemon: Daemon, repo: Path, tmp_path: Path) -> None:
    given = tmp_path / "given"
    git(tmp_path, "init", "-q", str(given))
    process = daemon.run(given)
    assert "does not serve it yet" in daemon.dagentd("init", str(repo))
    assert "stopped" not in daemon.dagentd("remove", str(repo))
    assert process.poll() is None
    daemon.dagentd("init", str(given))
    told = daemon.dagentd("remove", str(given))
    assert f"{given} is no longer registered." in told and "no longer served" not in told
    assert roots(daemon) == [str(given)]


@pytest.fixture
def other(project: SampleProject) -> Iterator[subprocess.Popen[str]]:
    """Another process that writes to the project and holds its lock."""
    command = [sys.executable, "-c", OTHER, str(project.root)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "holds\n"
    yield process
    process.kill()
    process.communicate()


@pytest.mark.usefixtures("beats")
def test_a_project_that_another_process_writes_to_is_read_until_that_one_ends(
    daemon: Daemon, project: SampleProject, other: subprocess.Popen[str]
) -> None:
    daemon.run(project.root)
    status = daemon.status
    assert status["health"] == "degraded"
    assert [each["readOnly"] for each in status["projects"]] == [True]
    [problem] = [each for each in status["problems"] if each["id"] == "read-only"]
    assert f"process {other.pid}" in problem["message"]
    assert daemon.call("session.getHistory", sessionId=PM)["messages"][0]["content"] == "theirs"
    writes: list[tuple[str, dict[str, Any]]] = [
        ("session.addMessage", {"role": "user", "content": "ours"}),
        ("session.clearMessages", {}),
        ("session.archive", {}),
        ("session.updateCheckpoint", {"checkpoint": {}}),
        ("session.updateContext", {"context": {}}),
        ("session.setAgentDescription", {"agentDescription": {"agentType": "pm"}}),
    ]
    for method, params in writes:
        assert refusal(daemon, method, sessionId=PM, **params) == -32006
    assert refusal(daemon, "session.getOrCreate", **whose(project.root)) == -32006
    tell(other, "later")
    until(lambda: len(daemon.call("session.getHistory", sessionId=PM)["messages"]) == 2, "what it wrote since")
    with daemon.client() as client, client.subscribe(types=["daemon:degraded", "daemon:recovered"], since=0) as events:
        other.send_signal(signal.SIGKILL)
        until(lambda: daemon.status["health"] == "ok", "taking it over")
        seen = [next(events)["type"], next(events)["type"]]
    assert seen == ["daemon:degraded", "daemon:recovered"]
    daemon.call("session.addMessage", sessionId=PM, role="user", content="ours")
    held = daemon.call("session.getHistory", sessionId=PM)["messages"]
    assert [message["content"] for message in held] == ["theirs", "later", "ours"]


@pytest.mark.usefixtures("beats")
def test_who_reads_notices_nothing_when_a_project_is_taken_over(
    daemon: Daemon, project: SampleProject, other: subprocess.Popen[str]
) -> None:
    daemon.run(project.root)
    done = threading.Event()
    errors: list[RpcError] = []

    def read() -> None:
        with daemon.client() as client:
            while not done.is_set():
                try:
                    client.call("session.getHistory", sessionId=PM)
                except RpcError as error:
                    errors.append(error)

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    other.send_signal(signal.SIGKILL)
    until(lambda: daemon.status["health"] == "ok", "taking it over")
    done.set()
    for reader in readers:
        reader.join()
    assert errors == []


def test_what_was_wrong_with_a_session_goes_with_it(daemon: Daemon, project: SampleProject) -> None:
    daemon.run(project.root)
    create(daemon, project.root)
    chat = project.dagent / "sessions" / f"chat_{PM}.json"
    until(chat.exists, "the chat")
    chat.write_text('{"half')
    until(lambda: scanned(daemon, project.root), "the notice")
    project.worktree.rename(project.root / "gone")
    assert scanned(daemon, project.root) == []


def scanned(daemon: Daemon, root: Path) -> list[Any]:
    daemon.call("project.scan", project=str(root))
    return list(daemon.status["problems"])


def test_a_project_that_goes_while_it_is_used_gives_errors_and_no_bugs(daemon: Daemon, project: SampleProject) -> None:
    """Removed and registered again, over and over, under writers: whatever is answered is true."""
    daemon.start()
    daemon.register(project.root)
    os.kill(daemon.pid, signal.SIGHUP)
    until(lambda: roots(daemon) == [str(project.root)], "the project")
    create(daemon, project.root)
    acknowledged: list[str] = []
    codes: set[int] = set()
    done = threading.Event()

    def write(name: int) -> None:
        with daemon.client() as client:
            number = 0
            while not done.is_set():
                number += 1
                text = f"{name} {number}"
                try:
                    client.call("session.addMessage", sessionId=PM, role="user", content=text)
                    acknowledged.append(text)
                except RpcError as error:
                    codes.add(error.code)

    writers = [threading.Thread(target=write, args=(name,)) for name in range(4)]
    for writer in writers:
        writer.start()
    for _ in range(10):
        for wanted in ([], [project.root]):
            daemon.register(*wanted)
            os.kill(daemon.pid, signal.SIGHUP)
            until(lambda: roots(daemon) == [str(root) for root in wanted], "following")  # noqa: B023
    done.set()
    for writer in writers:
        writer.join()
    assert codes <= {-32001}
    contents: list[str] = []
    before: dict[str, str] = {}
    while True:
        page = daemon.call("session.getHistory", sessionId=PM, limit=10_000, **before)
        contents[:0] = [message["content"] for message in page["messages"]]
        if not page["more"]:
            break
        before = {"before": page["messages"][0]["id"]}
    assert len(contents) == len(set(contents))
    assert set(acknowledged) <= set(contents)
    assert "internal error" not in daemon.log
