"""The daemon's life, on the real process: start, stop, signals, logs, exit statuses."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from dagentd.rpc.client import Client, NotRunning
from tests.conftest import FEATURE, SampleProject
from tests.e2e.daemon import Daemon, descriptors, lines, request, until
from tests.patience import patience

PM = f"pm-feature-{FEATURE}"
_BUG = "import dagentd.daemon as d; d.Daemon._wait = lambda self: 1 / 0; from dagentd import cli; cli.main()"


def create(daemon: Daemon, project: SampleProject) -> None:
    daemon.call("session.getOrCreate", project=str(project.root), type="feature", agentType="pm", featureId=FEATURE)


# --- starting ----------------------------------------------------------------------------------------------------


def test_of_two_starts_at_once_one_wins_and_the_others_say_why(daemon: Daemon) -> None:
    starts = [daemon.command("start") for _ in range(4)]
    said = [start.communicate(timeout=patience())[0] for start in starts]
    pid = daemon.pid
    assert [line for line in said if line.startswith("dagentd started")] == [
        f"dagentd started (process {pid}); it listens at {daemon.socket}.\n"
        "It serves no project yet: add one with `dagentd init PATH`.\n"
    ]
    for start, line in zip(starts, said, strict=True):
        assert start.returncode == (0 if "started" in line or line.startswith("dagentd is running") else 1)
        assert "running already" in line or "started" in line
    assert daemon.processes() == [pid]


def test_starting_what_runs_is_no_error(daemon: Daemon) -> None:
    pid = daemon.start()
    assert daemon.dagentd("start") == f"dagentd is running already (process {pid}).\n"


def test_start_returns_and_holds_nothing_of_the_caller(daemon: Daemon, tmp_path: Path) -> None:
    """`$(dagentd start)` waits until everyone has closed the pipe; what else the caller has open, it can close."""
    reader, writer = os.pipe()
    mine = (tmp_path / "mine").open("w")
    os.set_inheritable(writer, True)
    os.set_inheritable(mine.fileno(), True)
    pipe = os.readlink(f"/proc/self/fd/{writer}")
    shell = f'said=$({sys.executable} -m dagentd start); echo "[$said]"'
    done = subprocess.run(
        ["sh", "-c", shell], capture_output=True, text=True, timeout=patience(), close_fds=False, check=True
    )
    os.close(writer)
    assert re.fullmatch(r"\[dagentd started \(process \d+\).*\]\n", done.stdout, re.DOTALL)
    assert os.read(reader, 1) == b"", "nobody writes to the pipe any more"
    os.close(reader)
    mine.close()
    held = descriptors(daemon.pid)
    assert str(tmp_path / "mine") not in held
    assert pipe not in held
    assert held.count("/dev/null") == 3
    assert os.readlink(f"/proc/{daemon.pid}/cwd") == "/"


def test_start_says_what_is_wrong_with_the_settings(daemon: Daemon) -> None:
    daemon.configure("[budget]\nlimit = 'much'\n[nonsense]\n")
    said = daemon.dagentd("start", status=1)
    assert "budget.limit" in said
    assert "nonsense" in said
    assert daemon.processes() == []


def test_restart_leaves_a_daemon_alone_that_could_not_start_again(daemon: Daemon) -> None:
    pid = daemon.start()
    daemon.configure("[budget]\nlimit = 'much'\n")
    assert "budget.limit" in daemon.dagentd("restart", status=1)
    assert daemon.pid == pid


def test_start_says_what_is_wrong_with_the_state_folder(daemon: Daemon) -> None:
    daemon.state.parent.mkdir(parents=True, exist_ok=True)
    daemon.state.write_text("a file where the folder should be")
    said = daemon.dagentd("start", status=1)
    assert said.startswith(f"dagentd: {daemon.state}")
    assert "Error" not in said
    assert daemon.processes() == []


def test_start_says_that_the_registry_is_damaged(daemon: Daemon) -> None:
    daemon.state.mkdir(parents=True)
    (daemon.state / "projects.json").write_text("{")
    said = daemon.dagentd("start", status=1)
    assert "projects.json: is not valid JSON" in said


def test_start_begins_where_the_daemon_hung_up_because_it_ended(daemon: Daemon) -> None:
    daemon.socket.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as ending:
        ending.bind(str(daemon.socket))
        ending.listen()
        start = daemon.command("start")
        asked = ending.accept()[0]
        daemon.socket.unlink()
        asked.close()
    assert "dagentd started" in start.communicate(timeout=patience())[0]
    daemon.dagentd("stop")


def test_a_relative_path_of_the_socket_means_the_same_to_daemon_and_client(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGENTD_SOCKET", "d.sock")
    done = daemon.command("start", cwd=daemon.folder)
    assert "started" in done.communicate(timeout=patience())[0]
    try:
        assert json.loads(daemon.dagentd("call", "daemon.ping", cwd=daemon.folder)) == {}
    finally:
        daemon.dagentd("stop", cwd=daemon.folder)


# --- one per user --------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("beats")
def test_with_the_lock_file_deleted_there_is_still_only_one(daemon: Daemon) -> None:
    first = daemon.start()
    (daemon.state / "lock").unlink()
    said = daemon.command("start").communicate(timeout=patience())[0]
    until(lambda: len(daemon.processes()) <= 1, "the end of all but one")
    assert "running already" in said or "another dagentd answers" in said or "started" in said
    daemon.ends(first)


@pytest.mark.usefixtures("beats")
def test_with_lock_and_socket_deleted_the_first_ends_and_leaves_the_second_alone(daemon: Daemon) -> None:
    first = daemon.start()
    os.kill(first, signal.SIGSTOP)  # it must not bind again before the second one starts
    (daemon.state / "lock").unlink()
    daemon.socket.unlink()
    second = daemon.start()
    assert second != first
    os.kill(first, signal.SIGCONT)
    daemon.ends(first)
    assert daemon.pid == second


def test_kill_9_and_start_at_once(daemon: Daemon) -> None:
    pid = daemon.start()
    os.kill(pid, signal.SIGKILL)
    daemon.ends(pid)
    assert daemon.dagentd("status", status=3).startswith("dagentd: dagentd is not running")
    assert daemon.start() != pid


# --- stopping ------------------------------------------------------------------------------------------------------


def test_stop_lasts_although_read_only_commands_run(daemon: Daemon, project: SampleProject) -> None:
    daemon.dagentd("init", cwd=project.root)
    create(daemon, project)
    assert daemon.dagentd("stop") == "dagentd stopped.\n"
    assert daemon.processes() == []
    for command in (["sessions"], ["show", PM], ["projects"], ["logs"]):
        daemon.dagentd(*command, cwd=project.root)
    for command in (["status"], ["events"]):
        daemon.dagentd(*command, status=3)
    assert daemon.dagentd("stop") == "dagentd was not running.\n"
    assert daemon.processes() == []


def test_restart_replaces_it_every_time(daemon: Daemon, project: SampleProject) -> None:
    """It holds its locks for a while after it stopped listening."""
    daemon.dagentd("init", cwd=project.root)
    create(daemon, project)
    pids = [daemon.pid]
    for _ in range(2):
        daemon.call("session.addMessages", sessionId=PM, messages=[{"role": "user", "content": "x"}] * 5_000)
        daemon.dagentd("restart")
        pids.append(daemon.pid)
    assert len(set(pids)) == 3
    assert daemon.status["health"] == "ok"
    assert daemon.processes() == pids[-1:]


@pytest.fixture
def rude(daemon: Daemon, project: SampleProject) -> Iterator[subprocess.Popen[str]]:
    """A daemon with a client that never reads, one in the middle of a line, one that listens, one that is idle."""
    process = daemon.run(project.root)
    create(daemon, project)
    daemon.call("session.addMessage", sessionId=PM, role="user", content="x" * 1_000_000)
    silent, half, listening, idle = (daemon.connect() for _ in range(4))
    silent.sendall(b"".join(request("session.getMessages", n, sessionId=PM) for n in range(10)))
    silent.sendall(b"".join(request("session.list", n) for n in range(10)))
    half.sendall(request("daemon.ping")[:10])
    listening.sendall(request("events.subscribe"))
    until(lambda: daemon.status["connections"] == 5, "all connections")
    yield process
    for connection in (silent, half, listening, idle):
        connection.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_drains_and_ends(rude: subprocess.Popen[str], daemon: Daemon, number: signal.Signals) -> None:
    rude.send_signal(number)
    assert rude.wait(timeout=patience()) == 0
    assert not daemon.socket.exists()


def test_what_is_under_way_is_answered_before_it_ends(daemon: Daemon, project: SampleProject) -> None:
    process = daemon.run(project.root)
    create(daemon, project)
    daemon.call("session.addMessage", sessionId=PM, role="user", content="word " * 40_000)
    with daemon.connect() as connection:
        connection.sendall(request("session.previewRequest", "slow", sessionId=PM))
        until(lambda: daemon.status["connections"] == 2, "the call")
        assert daemon.call("daemon.shutdown") == {}
        assert [answer["id"] for answer in lines(connection)] == ["slow"]
    assert process.wait(timeout=patience()) == 0


def test_nothing_acknowledged_is_missing_after_a_stop_in_the_middle(daemon: Daemon, project: SampleProject) -> None:
    process = daemon.run(project.root)
    create(daemon, project)
    acknowledged: list[str] = []

    def write(name: str) -> None:
        with daemon.connect() as connection:
            for number in range(100_000):
                text = f"{name} {number}"
                try:
                    connection.sendall(request("session.addMessage", 1, sessionId=PM, role="user", content=text))
                    answer = next(lines(connection), None)
                except OSError:
                    return
                if answer is None or "result" not in answer:
                    return
                acknowledged.append(text)

    writers = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for writer in writers:
        writer.start()
    until(lambda: len(acknowledged) > 50 and {text[0] for text in acknowledged} == {*"abcd"}, "messages of each")
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=patience()) == 0
    for writer in writers:
        writer.join()
    held = json.loads(daemon.dagentd("history", PM, "--json", "--limit", "100000", cwd=project.root))["messages"]
    contents = [message["content"] for message in held]
    assert len(set(contents)) == len(contents)
    assert set(acknowledged) <= set(contents)


def test_a_bug_that_ends_it_is_a_status_for_the_service_manager(daemon: Daemon) -> None:
    """One that ends with 0 would not be started again."""
    crashed = subprocess.run([sys.executable, "-c", _BUG, "run"], capture_output=True, text=True, timeout=patience())
    assert crashed.returncode == 70
    assert "ZeroDivisionError" in crashed.stderr


def test_a_bug_in_the_background_is_in_the_log(daemon: Daemon) -> None:
    subprocess.run([sys.executable, "-c", _BUG, "start"], capture_output=True, timeout=patience())
    until(lambda: not daemon.processes(), "its end")
    assert "ZeroDivisionError" in daemon.log


# --- settings --------------------------------------------------------------------------------------------------------


def test_sighup_reads_the_settings_again_and_keeps_them_if_they_are_wrong(daemon: Daemon) -> None:
    pid = daemon.start()
    daemon.configure("[watch]\nreconcile_s = 77\n[log]\nlevel = 'debug'\n")
    os.kill(pid, signal.SIGHUP)
    until(lambda: daemon.status["watches"]["everySeconds"] == 77, "the new setting")
    daemon.configure("[watch]\nreconcile_s = 'never'\n")
    os.kill(pid, signal.SIGHUP)
    until(lambda: "watch.reconcile_s" in daemon.log, "the complaint")
    assert daemon.status["watches"]["everySeconds"] == 77
    assert daemon.pid == pid


# --- the log ---------------------------------------------------------------------------------------------------------


def test_the_log_tells_a_stop_from_a_kill(daemon: Daemon) -> None:
    daemon.start()
    daemon.dagentd("stop")
    assert daemon.dagentd("logs", "-n", "1").endswith(": dagentd stopped\n")
    os.kill(daemon.start(), signal.SIGKILL)
    until(lambda: not daemon.answers(), "the end")
    assert " is ready, projects served: " in daemon.dagentd("logs", "-n", "1")


def test_where_there_is_no_log_one_is_told_where_to_look(daemon: Daemon, repo: Path) -> None:
    daemon.run(repo)
    assert "`dagentd run` tells what it does in its own terminal" in daemon.dagentd("logs")


def test_the_log_rotates_and_is_the_users_alone(daemon: Daemon) -> None:
    daemon.configure("[log]\nmax_bytes = 10000\nfiles = 2\n")
    pid = daemon.start()
    for number in range(200):
        daemon.configure(f"[log]\nmax_bytes = 10000\nfiles = 2\n[watch]\nreconcile_s = {number + 1}\n")
        os.kill(pid, signal.SIGHUP)
        until(lambda: daemon.status["watches"]["everySeconds"] == number + 1, "the reload")  # noqa: B023
    files = sorted(daemon.state.glob("dagentd.log*"))
    assert [file.name for file in files] == ["dagentd.log", "dagentd.log.1"]
    assert all(file.stat().st_size <= 10_000 for file in files)
    assert all(file.stat().st_mode & 0o077 == 0 for file in files)
    assert "settings read again" in daemon.dagentd("logs", "-n", "1")


def test_logs_follows_the_log_over_a_rotation(daemon: Daemon) -> None:
    daemon.state.mkdir(parents=True)
    log = daemon.state / "dagentd.log"
    log.write_text("one\n")
    following = daemon.command("logs", "-f")
    assert following.stdout is not None
    assert following.stdout.readline() == "one\n"
    log.rename(daemon.state / "dagentd.log.1")
    log.write_text("two\n")
    assert following.stdout.readline() == "two\n"
    following.terminate()


def test_the_log_holds_no_text_of_sessions(daemon: Daemon, project: SampleProject) -> None:
    daemon.configure("[log]\nlevel = 'debug'\n")
    daemon.dagentd("init", cwd=project.root)
    create(daemon, project)
    secret = "swordfish"
    chat = project.dagent / "sessions" / f"chat_{PM}.json"
    with daemon.connect() as connection:
        sent = [
            request("session.addMessage", 1, sessionId=PM, role="user", content=secret, id="m1"),
            request("session.addMessage", 2, sessionId=PM, role="user", content=f"other {secret}", id="m1"),
            request("session.addMessage", 3, sessionId=PM, role="robot", content=secret),
            request("session.addMessages", 4, sessionId=PM, messages=[{"role": "robot", "content": secret}]),
            request("session.updateContext", 5, sessionId=PM, context={"projectStructure": {secret: secret}}),
            request("session.updateCheckpoint", 6, sessionId=PM, checkpoint={"summary": {"completed": secret}}),
            request("session.setAgentDescription", 7, sessionId=PM, agentDescription={"role": {secret: 1}}),
            request("session.previewRequest", 8, sessionId=PM, userMessage=secret),
            f'{{"{secret}'.encode() + b"\n",
        ]
        connection.sendall(b"".join(sent))
        connection.shutdown(socket.SHUT_WR)
        answers = list(lines(connection))
    assert len(answers) == len(sent)
    refused = [answer["error"] for answer in answers if "error" in answer]
    assert secret not in json.dumps(refused)
    until(chat.exists, "the chat")
    chat.write_text(f'{{"messages": [{{"id": "{secret}"')
    daemon.call("project.scan", project=str(project.root))
    daemon.dagentd("stop")
    assert daemon.log
    assert secret not in daemon.log


# --- statuses --------------------------------------------------------------------------------------------------------


def test_exit_statuses(daemon: Daemon, project: SampleProject) -> None:
    daemon.dagentd("status", status=3)
    daemon.dagentd("call", "daemon.ping", status=3)
    daemon.run(project.root)
    daemon.dagentd("status")
    assert json.loads(daemon.dagentd("status", "--json"))["health"] == "ok"
    assert json.loads(daemon.dagentd("call", "daemon.ping")) == {}
    daemon.dagentd("call", "no.such", status=1)
    daemon.dagentd("call", "session.get", '{"sessionId": "none"}', status=1)
    for wrong in (["call"], ["call", "x", "not json"], ["call", "x", "[]"], ["nonsense"], ["logs", "-n", "-1"]):
        daemon.dagentd(*wrong, status=2)


@pytest.mark.usefixtures("beats")
def test_status_is_1_when_degraded_and_names_the_cause(daemon: Daemon, project: SampleProject) -> None:
    daemon.dagentd("init", cwd=project.root)
    daemon.dagentd("status")
    elsewhere = project.root.with_name("elsewhere")
    project.root.rename(elsewhere)
    until(lambda: daemon.status["health"] == "degraded", "the notice")
    said = daemon.dagentd("status", status=1)
    assert f"! {project.root}: the repository is not there" in " ".join(said.split())
    elsewhere.rename(project.root)
    until(lambda: daemon.status["health"] == "ok", "the recovery")
    daemon.dagentd("status")


def test_status_and_stop_work_with_a_daemon_of_another_version(daemon: Daemon) -> None:
    """It says less than ours, and more."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(daemon.socket))
        listener.listen()
        other = subprocess.Popen(["sleep", "60"])
        status = {"pid": other.pid, "health": "ok", "protocol": 9, "newField": [1], "projects": [{"root": "/x"}]}
        answering = threading.Thread(target=_answer_as, args=(listener, status, other), daemon=True)
        answering.start()
        said = daemon.dagentd("status")
        assert str(other.pid) in said
        assert json.loads(daemon.dagentd("status", "--json")) == status
        assert daemon.dagentd("stop") == "dagentd stopped.\n"
        other.wait(timeout=patience())


def _answer_as(listener: socket.socket, status: dict[str, object], process: subprocess.Popen[bytes]) -> None:
    while True:
        try:
            client = listener.accept()[0]
        except OSError:
            return
        with client, client.makefile("rwb") as file:
            for line in file:
                call = json.loads(line)
                if call["method"] == "daemon.shutdown":
                    process.terminate()
                result = status if call["method"] == "daemon.status" else {}
                answer = {"jsonrpc": "2.0", "id": call["id"], "result": result, "extra": 1}
                file.write(json.dumps(answer).encode() + b"\n")
                file.flush()


def test_not_running_is_known_at_once(daemon: Daemon) -> None:
    """Also with a stale socket: a client of it fails before any of its patience is spent."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stale:
        stale.bind(str(daemon.socket))
    with pytest.raises(NotRunning):
        Client(timeout=None)


def test_status_says_what_is_taken_on_the_disk(daemon: Daemon, project: SampleProject) -> None:
    daemon.run(project.root)
    where = {"project": str(project.root), "featureId": project.feature}
    made = daemon.call("session.getOrCreate", type="feature", agentType="pm", **where)["id"]
    daemon.call("session.addMessage", sessionId=made, role="user", content="x" * 2000)
    (project.dagent / "chat.json.backup").write_bytes(b"x" * 1500)
    (project.root / ".git" / "dagentd" / "kept" / "gone.1.jsonl").write_bytes(b"x" * 30)
    journal = project.dagent / "sessions" / f"history_{made}.jsonl"
    kept = project.root / ".git" / "dagentd" / "kept"
    copies = 1500 + until(lambda: sum(path.stat().st_size for path in kept.glob("*.z")), "a sealed part")
    [served] = until(
        lambda: [one for one in daemon.status["projects"] if one["disk"]["backups"] == copies], "a new look"
    )
    assert served["disk"] == {"journals": journal.stat().st_size, "kept": 30, "backups": copies, "setAside": 0}
    [row] = [line for line in daemon.dagentd("status").splitlines() if line.startswith(str(project.root))]
    assert row.split()[-8:-2] == [f"{journal.stat().st_size / 1000:.1f}", "kB", "30", "B", f"{copies / 1000:.1f}", "kB"]
