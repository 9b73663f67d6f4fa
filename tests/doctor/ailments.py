"""Each kind of problem, made for real: what is yielded is a part of what the doctor must say of it."""

from __future__ import annotations

import json
import os
import resource
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import zstandard

from dagentd import oneshot, paths
from dagentd.adapters.files import flock
from dagentd.agents import connecting
from dagentd.jobs import hooks, service_files, user_service
from dagentd.rpc.client import RpcError
from dagentd.settings import Settings
from tests.agents.desk import ID
from tests.conftest import FEATURE, git
from tests.doctor.patient import PM, Maker, Patient, is_root, without
from tests.e2e.daemon import until

MAKERS: dict[str, Maker] = {}


def makes(kind: str) -> Callable[[Maker], Maker]:
    def note(maker: Maker) -> Maker:
        MAKERS[kind] = maker
        return maker

    return note


# --- sessions, as one sees who only reads ------------------------------------------------------------------------


@makes("unreadable-")
def bad_line(patient: Patient) -> Iterator[object]:
    patient.journal.write_bytes(b"no record\n" + patient.journal.read_bytes())
    yield "the line at byte 0 is no record"


@makes("newer")
def newer(patient: Patient) -> Iterator[object]:
    with patient.journal.open("a") as journal:
        journal.write('{"t": "hologram", "at": "2030-01-01T00:00:00.000Z"}\n')
    yield "hologram"


@makes("corrupt-")
def corrupt(patient: Patient) -> Iterator[object]:
    patient.document("chat").write_text("{")
    yield patient.document("chat")


@makes("session-")
def no_journal(patient: Patient) -> Iterator[object]:
    patient.journal.unlink()
    patient.journal.mkdir()
    yield patient.journal
    patient.journal.rmdir()


@makes("folder")
def link_out(patient: Patient) -> Iterator[object]:
    patient.sessions.rename(patient.tmp / "elsewhere")
    patient.sessions.symlink_to(patient.tmp / "elsewhere")
    yield "leads out of its worktree"


@makes("feature-file")
def a_feature_file_without_sense(patient: Patient) -> Iterator[object]:
    (patient.sessions.parent / "dag.json").write_text("{")
    yield "is not valid JSON"


@makes("feature-name")
def a_graph_by_another_name(patient: Patient) -> Iterator[object]:
    (patient.sessions.parent / "dag.json").write_text('{"tasks": [{"id": "t1"}]}')
    yield "`tasks` is read as `nodes`"


@makes("set-aside")
def set_aside(patient: Patient) -> Iterator[object]:
    patient.document("chat").with_name(f"chat_{PM}.json.corrupt.1").write_text("{")
    yield "was set aside"


@makes("unkept")
def unkept(patient: Patient) -> Iterator[object]:
    for kept in patient.project.kept_dir.iterdir():
        kept.unlink()
    yield patient.journal
    assert os.stat(patient.journal).st_nlink == 2


@makes("temps")
def temps(patient: Patient) -> Iterator[object]:
    (patient.project.temp_dir / ".chat.0123.7-1.dagentd-tmp").write_text("{")
    yield "1 files of a process that died"
    assert not list(patient.project.temp_dir.iterdir())


# --- sessions, as the daemon sees them -----------------------------------------------------------------------------


def heard(patient: Patient, kind: str) -> None:
    def named() -> bool:
        told = [*patient.daemon.status["problems"], *patient.daemon.status["queues"]["failing"]]
        return any(each["id"].startswith(kind) for each in told)

    until(named, f"the problem {kind}")


@makes("torn")
def torn(patient: Patient) -> Iterator[object]:
    with patient.journal.open("a") as journal:
        journal.write('{"t": "mess')
    patient.serve()
    patient.scanned()
    yield "cut off by a crash"


@makes("journal-altered")
def altered(patient: Patient) -> Iterator[object]:
    patient.serve()
    patient.call("session.addMessage", sessionId=PM, role="user", content="more")
    lines = patient.journal.read_bytes().splitlines(keepends=True)
    patient.journal.write_bytes(b"".join(lines[:-1]))
    patient.call("session.addMessage", sessionId=PM, role="user", content="still more")
    yield "was altered by another program"


@makes("journal-lost")
def overwritten(patient: Patient) -> Iterator[object]:
    before = patient.journal.read_bytes()
    with oneshot.writing(patient.project, Settings()) as store, store.sessions.using(PM) as session:
        session.add([{"role": "user", "content": "said and cleared"}])
        session.clear()
    for part in patient.project.kept_dir.glob("*.z"):
        part.unlink()
    patient.journal.write_bytes(before)
    patient.serve()
    yield "messages that no other file has: 1"


@makes("odd-entries")
def odd(patient: Patient) -> Iterator[object]:
    chat = json.loads(patient.document("chat").read_text())
    patient.document("chat").write_text(json.dumps({**chat, "messages": [*chat["messages"], 7]}))
    patient.serve()
    patient.scanned()
    yield "no messages"


@makes("paused")
def pauses_unreadable(patient: Patient) -> Iterator[object]:
    patient.project.paused_file.write_text("{")
    patient.serve()
    patient.scanned()
    yield "counts as paused"


@makes("memory")
def memory_damaged(patient: Patient) -> Iterator[object]:
    patient.project.memory_file.write_text("{\n")
    patient.serve()
    patient.scanned()
    yield "makes no sense in line 1"


@makes("copy-")
def second_chat(patient: Patient) -> Iterator[object]:
    session = json.loads(patient.document("session").read_text())
    shutil.copy(patient.document("chat"), patient.sessions / "mine.json")
    patient.document("session").write_text(json.dumps({**session, "files": {"chat": "mine.json"}}))
    patient.serve()
    patient.scanned()
    yield "is a second chat"


@makes("refused-")
def refused(patient: Patient) -> Iterator[object]:
    patient.serve()
    patient.document("chat").unlink()
    os.mkfifo(patient.document("chat"))
    patient.scanned()
    yield patient.document("chat")


@makes("leftover")
def leftover(patient: Patient) -> Iterator[object]:
    (patient.sessions / f".chat_{PM}.json.7-1.dagentd-tmp").mkdir()
    patient.serve()
    patient.scanned()
    yield ".dagentd-tmp"


@makes("kept-by-copy")
def copied(patient: Patient) -> Iterator[object]:
    """git's folder on another file system."""
    shm = Path("/dev/shm")
    if not shm.is_dir() or shm.stat().st_dev == patient.root.stat().st_dev or not os.access(shm, os.W_OK):
        pytest.skip("no second file system that can be written to")
    far = shm / f"dagentd-doctor-{os.getpid()}.git"
    try:
        root = patient.tmp / "apart"
        git(patient.tmp, "init", "-q", "--separate-git-dir", str(far), str(root))
        (root / ".dagent").mkdir()
        (root / ".dagent" / "feature.json").write_text(json.dumps({"id": FEATURE}))
        patient.daemon.run(root)
        patient.daemon.call("session.getOrCreate", project=str(root), type="feature", agentType="pm", featureId=FEATURE)
        patient.daemon.call("project.scan", project=str(root))
        yield "its kept journal is a copy"
    finally:
        shutil.rmtree(far, ignore_errors=True)


@contextmanager
def file_limit(pid: int, size: int) -> Iterator[None]:
    """No file of a process may become longer: writing fails as on a full disk."""
    before = resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    yield
    resource.prlimit(pid, resource.RLIMIT_FSIZE, before)


@makes("journal")
def no_room(patient: Patient) -> Iterator[object]:
    with file_limit(patient.serve(), patient.journal.stat().st_size):
        with pytest.raises(RpcError):
            patient.call("session.addMessage", sessionId=PM, role="user", content="more")
        heard(patient, "journal")
        yield patient.journal


@makes("documents")
def no_room_for_documents(patient: Patient) -> Iterator[object]:
    with file_limit(patient.serve(), 40_000):
        (patient.sample.worktree / "CLAUDE.md").write_text("Be brief.\n" * 6_000)
        heard(patient, "documents")
        yield "larger than allowed"


# --- work ----------------------------------------------------------------------------------------------------------


@makes("job-")
def failing_job(patient: Patient) -> Iterator[object]:
    """A document that there is no room for is tried again and again."""
    with file_limit(patient.serve(), 40_000):
        (patient.sample.worktree / "CLAUDE.md").write_text("Be brief.\n" * 6_000)
        heard(patient, "job-")
        yield "larger than allowed"


@makes("context")
def no_context(patient: Patient) -> Iterator[object]:
    patient.document("context").unlink(missing_ok=True)
    patient.document("context").mkdir()
    patient.serve()
    heard(patient, "context")
    yield patient.document("context")


@makes("migration-")
def not_migrated(patient: Patient) -> Iterator[object]:
    (patient.sample.dagent / "chat.json").write_text("{")
    patient.serve()
    heard(patient, "migration-")
    yield patient.sample.dagent / "chat.json"


@makes("budget")
def over_budget(patient: Patient) -> Iterator[object]:
    patient.daemon.configure("[budget]\nlimit = 2000\nprompt_buffer = 100\n")
    (patient.sample.worktree / "CLAUDE.md").write_text("Rule: be brief, and never say more than you must.\n" * 400)
    patient.serve()
    until(lambda: (patient.call("session.getContext", sessionId=PM) or {}).get("claudeMd"), "the context")
    patient.call("session.addMessage", sessionId=PM, role="user", content="more")
    heard(patient, "budget")
    yield "over budget because of its context"


@makes("compaction")
def not_by_model(patient: Patient) -> Iterator[object]:
    patient.daemon.configure(
        "[budget]\nlimit = 3000\nprompt_buffer = 100\n[compaction]\nbackend = 'anthropic'\n"
    )  # and there is no key
    patient.serve()
    for number in range(60):
        patient.call("session.addMessage", sessionId=PM, role="user", content=f"{number}: {'the sky is blue ' * 12}")
    heard(patient, "compaction")
    yield "anthropic: "


@makes("agx")
def bad_agx(patient: Patient) -> Iterator[object]:
    sessions = patient.root / ".agx" / "sessions"
    sessions.mkdir(parents=True)
    (sessions / "main.json").write_text("{")
    patient.serve()
    heard(patient, "agx")
    yield sessions / "main.json"


def _transcript(patient: Patient, data: bytes) -> Path:
    folder = Path(os.environ["HOME"], ".codex/sessions/2026/11/18")
    folder.mkdir(parents=True)
    path = folder / "rollout-2026-11-18T10-00-00-11111111-2222-4333-8444-555555555555.jsonl.zst"
    path.write_bytes(data)
    return path


@makes("agents-transcript")
def bad_transcript(patient: Patient) -> Iterator[object]:
    path = _transcript(patient, b"no zstandard")
    patient.serve()
    heard(patient, "agents-transcript")
    yield path


@makes("agents-parked")
def no_room_for_conversations(patient: Patient) -> Iterator[object]:
    meta = {"type": "session_meta", "payload": {"id": "x", "cwd": str(patient.root)}}
    _transcript(patient, zstandard.compress(json.dumps(meta).encode() + b"\n"))
    patient.daemon.configure("[agents]\nmax_bytes = 0\n")
    patient.serve()
    heard(patient, "agents-parked")
    yield "agents.max_bytes"


def _connect(patient: Patient) -> None:
    """Where there is no claude command its settings will do."""
    patient.patch.setenv("PATH", os.pathsep.join([str(patient.tmp / "agents"), "/usr/bin", "/bin"]))
    connecting.connect("claude-code", None)


@makes("agents-plugin")
def a_plugin_that_is_gone(patient: Patient) -> Iterator[object]:
    _connect(patient)
    shutil.rmtree(paths.connect_dir() / "claude-code")
    yield "is gone, and agents run it"


@makes("agents-silent")
def hooks_that_never_come(patient: Patient) -> Iterator[object]:
    _connect(patient)
    folder = Path(os.environ["HOME"], ".claude", "projects", "-x")
    folder.mkdir(parents=True)
    told = {"type": "user", "uuid": ID, "timestamp": "2100-01-01T00:00:00.000Z", "cwd": str(patient.root)}
    line = json.dumps({**told, "message": {"role": "user", "content": "Hello"}})
    (folder / f"{ID}.jsonl").write_text(line + "\n")
    patient.serve()
    until(lambda: patient.daemon.call("session.list", agent="claude-code")["sessions"], "the conversation")
    yield "had 1 conversations since"


@makes("agents-old")
def an_old_claude(patient: Patient) -> Iterator[object]:
    _connect(patient)
    program = patient.tmp / "agents" / "claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho '2.1.75 (Claude Code)'\n")
    program.chmod(0o755)
    yield f"{program} is older than 2.1.76"


@makes("no-key")
def no_key(patient: Patient) -> Iterator[object]:
    patient.daemon.configure("[compaction]\nbackend = 'anthropic'\n")
    yield "no key"


@makes("claude-missing")
def no_claude(patient: Patient) -> Iterator[object]:
    patient.daemon.configure("[compaction]\nbackend = 'claude-cli'\n")
    with without(patient, "claude"):
        yield "claude"


@makes("tmux-missing")
def no_tmux(patient: Patient) -> Iterator[object]:
    (patient.root / ".agx" / "sessions").mkdir(parents=True)
    with without(patient, "tmux"):
        yield "no tmux"


# --- watching --------------------------------------------------------------------------------------------------------


@makes("watch-cookie")
def no_cookie(patient: Patient) -> Iterator[object]:
    paths.cookie_file().mkdir(parents=True)
    patient.serve()
    heard(patient, "watch-cookie")
    yield paths.cookie_file()


@contextmanager
def limited(patient: Patient, setting: str, most: int) -> Iterator[None]:
    """A daemon to which the system gives few of something, in a user namespace of its own."""
    start = f'echo {most} > /proc/sys/user/{setting} && exec "$@"'
    line = ["unshare", "-Ur", "sh", "-c", start, "sh", *patient.daemon.line("run")]
    with subprocess.Popen(line, cwd="/", stdout=subprocess.DEVNULL) as process:
        until(lambda: patient.daemon.answers() or process.poll() is not None, "the start")
        assert process.poll() is None
        yield
        process.kill()


@makes("watch-limit")
def few_watches(patient: Patient) -> Iterator[object]:
    with limited(patient, "max_inotify_watches", 3):
        heard(patient, "watch-limit")
        yield "no more inotify watches"


@makes("watch-system")
def no_instances(patient: Patient) -> Iterator[object]:
    with limited(patient, "max_inotify_instances", 0):
        heard(patient, "watch-system")
        yield "all folders are polled"


@makes("watch-refused")
def unreadable_folder(patient: Patient) -> Iterator[object]:
    """One that no session is in: of those it is said that they are closed."""
    if is_root():
        pytest.skip("root may read every folder")
    patient.serve()
    folder = patient.sample.worktree / "docs"
    folder.mkdir(mode=0)  # from its first moment on: a watch stays, whatever the mode is afterwards
    (patient.sample.worktree / "CLAUDE.md").write_text("@docs/style.md\n")
    try:
        heard(patient, "watch-refused")
        yield folder
    finally:
        folder.chmod(0o700)


# --- projects --------------------------------------------------------------------------------------------------------


@makes("project")
def moved_away(patient: Patient) -> Iterator[object]:
    patient.root.rename(patient.tmp / "away")
    yield patient.root
    (patient.tmp / "away").rename(patient.root)


@makes("read-only")
def held_elsewhere(patient: Patient) -> Iterator[object]:
    held = flock.attempt(patient.project.lock_file)
    assert held is not None
    yield f"process {os.getpid()}"
    held.release()


@makes("not-served")
def not_served(patient: Patient) -> Iterator[object]:
    other = patient.tmp / "other"
    git(patient.tmp, "init", "-q", str(other))
    patient.daemon.run(other)
    yield patient.root


@makes("registry")
def bad_registry(patient: Patient) -> Iterator[object]:
    paths.registry_file().write_text("{")
    yield paths.registry_file()


@makes("settings")
def bad_settings(patient: Patient) -> Iterator[object]:
    patient.daemon.configure("[budget]\nlimit = 'much'\n")
    yield "budget.limit"


@makes("project-settings")
def bad_project_settings(patient: Patient) -> Iterator[object]:
    settings = patient.root / ".dagent" / "config.toml"
    settings.parent.mkdir()
    settings.write_text("[compaction]\nbase_url = 'https://evil.example'\n")
    yield "cannot be set by a project"


@makes("hooks-missing")
def no_hooks(patient: Patient) -> Iterator[object]:
    hooks.uninstall(patient.project)
    yield "post-commit"
    assert {line.state for line in hooks.look(patient.project)} == {"installed"}


@makes("hooks-left-alone")
def foreign_hooks(patient: Patient) -> Iterator[object]:
    (patient.tmp / "shared").mkdir()
    git(patient.root, "config", "core.hooksPath", str(patient.tmp / "shared"))
    yield "outside of this repository"


@makes("exclude")
def not_excluded(patient: Patient) -> Iterator[object]:
    (patient.root / ".git" / "info" / "exclude").write_text("*.swp\n")
    yield ".dagent/"
    assert (patient.root / ".git" / "info" / "exclude").read_text().startswith("*.swp\n# added by dagentd\n")


@makes("tracked")
def tracked(patient: Patient) -> Iterator[object]:
    git(patient.sample.worktree, "add", "-f", ".dagent/feature.json")
    yield "1 session files are in git"


@makes("spool")
def full_spool(patient: Patient) -> Iterator[object]:
    for number in range(150):
        (patient.project.spool_dir / f"x{number}").touch()
    yield patient.project.spool_dir


# --- the daemon and the machine ------------------------------------------------------------------------------------


@makes("daemon")
def lost_registry(patient: Patient) -> Iterator[object]:
    patient.patch.setenv("WATCHDOG_USEC", "200000")  # a heartbeat of 0.1 s
    patient.serve()
    paths.registry_file().write_text("{")
    heard(patient, "daemon")
    yield paths.registry_file()


@makes("not-running")
def not_running(patient: Patient) -> Iterator[object]:
    yield "no daemon runs"


@makes("not-answering")
def hung(patient: Patient) -> Iterator[object]:
    pid = patient.serve()
    patient.patch.setattr("dagentd.doctor.examination._PATIENCE", 0.5)
    os.kill(pid, 19)  # SIGSTOP
    try:
        yield "no answer"
    finally:
        os.kill(pid, 18)


@makes("other-socket")
def other_socket(patient: Patient) -> Iterator[object]:
    pid = patient.serve()
    patient.patch.setenv("DAGENTD_SOCKET", str(patient.daemon.folder / "other.sock"))
    yield f"process {pid}"
    patient.patch.setenv("DAGENTD_SOCKET", str(patient.daemon.socket))


@makes("two-daemons")
def two_daemons(patient: Patient) -> Iterator[object]:
    """One of this state folder, and one of another at the socket that commands use."""
    mine = patient.serve()
    patient.patch.setenv("XDG_STATE_HOME", str(patient.tmp / "state"))
    patient.patch.setenv("DAGENTD_SOCKET", str(patient.daemon.folder / "b.sock"))
    patient.daemon.dagentd("start")
    patient.patch.setenv("DAGENTD_SOCKET", str(patient.daemon.socket))
    yield f"process {mine} answers"
    patient.patch.setenv("DAGENTD_SOCKET", str(patient.daemon.folder / "b.sock"))
    patient.daemon.dagentd("stop")
    patient.patch.setenv("DAGENTD_SOCKET", str(patient.daemon.socket))


@makes("other-version")
def other_version(patient: Patient) -> Iterator[object]:
    patient.serve()
    patient.patch.setattr("dagentd.doctor.examination.__version__", "99.0")  # this command is newer than the daemon
    yield "99.0"


@makes("stale-socket")
def stale_socket(patient: Patient) -> Iterator[object]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stale:
        stale.bind(str(patient.daemon.socket))
    patient.daemon.socket.chmod(0o600)
    yield patient.daemon.socket
    assert not patient.daemon.socket.exists()


@makes("socket-squatted")
def squatted(patient: Patient) -> Iterator[object]:
    patient.daemon.socket.write_text("mine")
    yield patient.daemon.socket


@makes("socket-open")
def open_socket(patient: Patient) -> Iterator[object]:
    patient.serve()
    patient.daemon.socket.chmod(0o666)
    yield "mode 666"
    assert patient.daemon.socket.stat().st_mode & 0o777 == 0o600
    assert patient.daemon.answers()


@makes("state-open")
def open_state(patient: Patient) -> Iterator[object]:
    paths.state_dir().chmod(0o755)
    yield "mode 755"
    assert paths.state_dir().stat().st_mode & 0o777 == 0o700


@makes("state-refused")
def no_state(patient: Patient) -> Iterator[object]:
    patient.patch.setenv("XDG_STATE_HOME", str(patient.tmp / "s"))
    (patient.tmp / "s").mkdir()
    (patient.tmp / "s" / "dagentd").write_text("mine")
    yield "is no folder"


@makes("index")
def bad_index(patient: Patient) -> Iterator[object]:
    paths.index_file().write_bytes(b"SQLite format 3\0" + os.urandom(8192))
    yield paths.index_file()
    assert not paths.index_file().exists()


@makes("service-program")
def gone_program(patient: Patient) -> Iterator[object]:
    manager = user_service.manager()
    program = service_files.Program((str(patient.tmp / "venv" / "bin" / "dagentd"),), {})
    for path, text in manager.files(program, False).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
    yield str(patient.tmp / "venv" / "bin" / "dagentd")


@makes("git-missing")
def no_git(patient: Patient) -> Iterator[object]:
    with without(patient, "git"):
        yield "no git command"


@makes("git-old")
def old_git(patient: Patient) -> Iterator[object]:
    """One that says so of itself, and is the real one else."""
    real = shutil.which("git")
    (patient.tmp / "old").mkdir()
    script = f'#!/bin/sh\ncase "$*" in *--version*) echo git version 2.11.0;; *) exec {real} "$@";; esac\n'
    (patient.tmp / "old" / "git").write_text(script)
    (patient.tmp / "old" / "git").chmod(0o755)
    patient.patch.setenv("PATH", f"{patient.tmp / 'old'}{os.pathsep}{os.environ['PATH']}")
    yield "git is 2.11"


@makes("clock")
def from_the_future(patient: Patient) -> Iterator[object]:
    soon = time.time() + 3 * 86400
    os.utime(patient.journal, (soon, soon))
    yield "72 h in the future"


@makes("unchecked")
def git_fails(patient: Patient) -> Iterator[object]:
    """git does not know the repository, as one of another user."""
    (patient.root / ".git" / "HEAD").write_text("nonsense\n")
    yield "git says"
