"""Sessions in a real tmux server: opened, seen, and no longer active once they ended."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from dagentd import paths
from dagentd.adapters import tmux
from dagentd.adapters.tmux import Window
from dagentd.errors import DagentdError, NotAllowed
from tests.e2e.daemon import until
from tests.jobs.agx.tmux import Server
from tests.store.agx.agx import Store

Asked = list[list[Window]]


class Question:
    """Who is asked whether commands may run."""

    def __init__(self, answer: bool = True) -> None:
        self.answer, self.asked = answer, []  # type: ignore[var-annotated]

    def __call__(self, windows: Sequence[Window]) -> bool:
        self.asked.append([each.command for each in windows])
        return self.answer


def configure(store: Store, *windows: dict[str, Any]) -> None:
    path = store.root / ".agx" / "config.json"
    path.write_text(json.dumps({"version": "1.0.0", "tmux": {"windows": list(windows)}}))


def test_it_opens_with_the_usual_windows_and_is_active_while_it_runs(store: Store, server: Server) -> None:
    store.agx.new(store.root)
    name, made = store.agx.open(store.root, None, Question(False))
    assert (name, made) == ("agx-repo-main", True)
    assert server.windows(name) == [("main", str(store.root)), ("test", str(store.root))]
    raw = store.session("main")
    assert raw["tmux"]["isActive"] is True and raw["tmux"]["windowCount"] == 2 and raw["lifecycle"]["state"] == "active"
    assert store.index["sessions"][0]["runtime"]["tmuxActive"] is True
    assert store.agx.open(store.root, "main", Question(False)) == (name, False), "it is not made twice"
    server.run("new-window", "-d", "-t", f"={name}:")
    store.agx.check_all()
    assert store.session("main")["tmux"]["windowCount"] == 3
    server.run("kill-session", "-t", f"={name}")
    assert store.agx.listed(store.root)[0]["runtime"]["tmuxActive"] is False
    raw = store.session("main")
    assert raw["tmux"]["isActive"] is False and raw["lifecycle"]["state"] == "paused"
    assert raw["lifecycle"]["stateHistory"][-1]["reason"] == "tmux_ended"
    assert raw["statistics"]["sessionCount"] == 1
    assert store.index["sessions"][0]["runtime"]["tmuxActive"] is False


def test_a_server_that_ended_leaves_nothing_active(store: Store, server: Server) -> None:
    store.agx.new(store.root)
    store.agx.open(store.root, None, Question())
    server.run("kill-server")
    store.again().check_all()
    assert store.session("main")["tmux"]["isActive"] is False


def test_a_session_that_the_user_made_by_hand_is_seen(store: Store, server: Server) -> None:
    store.agx.new(store.root)
    server.run("new-session", "-d", "-s", "agx-repo-main", "-c", str(store.root))
    store.agx.check_all()
    assert store.session("main")["tmux"]["isActive"] is True


def test_windows_and_commands_come_from_the_configuration(store: Store, server: Server, tmp_path: Path) -> None:
    (store.root / "test").mkdir()
    store.agx.new(store.root, "main")
    said = tmp_path / "said"
    configure(store, {"name": "main", "path": ".", "command": None},
              {"name": "test", "path": "test/", "command": f"echo \"it's $PWD\" > {said}"})  # fmt: skip
    asked = Question()
    name, _ = store.agx.open(store.root, "main", asked)
    assert server.windows(name) == [("main", str(store.root)), ("test", str(store.root / "test"))]
    until(lambda: said.exists() and said.read_text(), "the command")
    assert said.read_text() == f"it's {store.root / 'test'}\n"
    assert len(server.windows(name)) == 2, "its shell stays"
    assert len(asked.asked) == 1


def test_commands_run_only_when_they_were_seen_and_again_after_any_change(store: Store, server: Server) -> None:
    store.agx.new(store.root, "main")
    configure(store, {"name": "w", "path": ".", "command": "true"})
    refusing = Question(False)
    with pytest.raises(NotAllowed, match="were not confirmed"):
        store.agx.open(store.root, "main", refusing)
    assert tmux.sessions() == {} and refusing.asked == [["true"]]
    asked = Question()
    name, _ = store.agx.open(store.root, "main", asked)
    server.run("kill-session", "-t", f"={name}")
    store.agx.open(store.root, "main", asked)
    assert asked.asked == [["true"]], "once"
    server.run("kill-session", "-t", f"={name}")
    configure(store, {"name": "w", "path": ".", "command": "true #"})
    store.again().open(store.root, "main", asked)
    assert asked.asked == [["true"], ["true #"]]
    assert paths.agx_confirmed_file().stat().st_mode & 0o777 == 0o600


def test_commands_in_a_session_file_are_the_projects_too(store: Store, server: Server) -> None:
    raw = store.agx.new(store.root, "main")
    raw["tmux"]["config"]["additionalWindows"] = [{"name": "x", "path": str(store.root), "command": "rm -rf /tmp/none"}]
    store.write("main", raw)
    asked = Question(False)
    with pytest.raises(NotAllowed):
        store.agx.open(store.root, "main", asked)
    assert asked.asked == [["rm -rf /tmp/none"]]


@pytest.mark.parametrize("window", [{"name": "x", "path": "../.."}, {"name": "x", "path": "/etc"},
                                    {"name": "x", "path": "out"}, {"name": "x", "path": ".", "command": "a\nb"},
                                    {"name": "x\x1b[2J", "path": "."}])  # fmt: skip
def test_windows_stay_in_the_project_and_commands_on_one_line(
    store: Store, server: Server, window: dict[str, Any]
) -> None:
    (store.root / "out").symlink_to("/")
    store.agx.new(store.root, "main")
    configure(store, window)
    with pytest.raises(NotAllowed):
        store.agx.open(store.root, "main", Question())
    assert tmux.sessions() == {}


def test_a_name_is_never_run_as_a_command(store: Store, server: Server, tmp_path: Path) -> None:
    """tmux expands `#(command)` in the names of windows and in folders."""
    (store.root / "a#(touch ran-too)").mkdir()
    store.agx.new(store.root, "main")
    name = f"#(touch {tmp_path}/ran)"
    configure(store, {"name": name, "path": "a#(touch ran-too)"}, {"name": "#{version}", "path": "."})
    opened, _ = store.agx.open(store.root, "main", Question())
    assert server.windows(opened) == [
        (name, str(store.root / "a#(touch ran-too)")), ("#{version}", str(store.root)),
    ]  # fmt: skip
    assert not (tmp_path / "ran").exists() and not list(store.root.rglob("ran-too"))


def test_two_projects_of_one_name_have_two_sessions(store: Store, server: Server, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere" / "repo"
    shutil.copytree(store.root, other)
    store.roots.append(other)
    for root in store.roots:
        store.agx.new(root)
    first, _ = store.agx.open(store.root, None, Question())
    store.agx.check_all()
    assert store.agx.get(other)["tmux"]["isActive"] is False, "that is the other's"
    second, made = store.agx.open(other, None, Question())
    assert made and second.startswith(f"{first}-") and sorted(server.names()) == sorted([first, second])
    assert store.agx.get(other)["tmux"]["sessionName"] == second
    assert all(store.agx.get(root)["tmux"]["isActive"] for root in store.roots)


@pytest.mark.parametrize("name", ["", "-x", "a:b.c", "=main", "x y"])
def test_a_name_that_tmux_would_misunderstand_is_not_used(store: Store, server: Server, name: str) -> None:
    raw = store.agx.new(store.root, "main")
    raw["tmux"]["sessionName"] = name
    store.write("main", raw)
    assert store.agx.open(store.root, "main", Question())[0] == "agx-repo-main"


def test_without_tmux_nothing_is_wrong(store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TMUX_TMPDIR", str(tmp_path))
    folder = tmp_path / f"tmux-{os.getuid()}"
    folder.mkdir()
    (folder / "default").touch()  # what a server that ended leaves
    store.agx.new(store.root, "main")
    assert tmux.sessions() == {}
    git_only = tmp_path / "bin"
    git_only.mkdir()
    (git_only / "git").symlink_to(str(shutil.which("git")))
    monkeypatch.setenv("PATH", str(git_only))
    assert tmux.sessions() == {}
    store.agx.check_all()
    with pytest.raises(NotAllowed, match="there is no tmux here"):
        store.agx.open(store.root, "main", Question())


def test_a_tmux_that_hangs_is_not_waited_for_for_ever(
    store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake = tmp_path / "tmux"
    fake.write_text("#!/bin/sh\nexec sleep 60\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(DagentdError, match="did not answer"):
        tmux._run("list-sessions", patience=0.2)


def test_a_user_at_a_terminal_attaches_and_leaves(store: Store, server: Server) -> None:
    """As typed: the commands are shown, confirmed, run; leaving tmux ends the command, and killing it pauses."""
    store.agx.new(store.root, "main")
    configure(store, {"name": "work", "path": ".", "command": "echo started"})
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(store.root)
        os.environ["TERM"] = "xterm"
        os.execv(sys.executable, [sys.executable, "-m", "dagentd", "agx", "open"])
    shown = bytearray()
    threading.Thread(target=_drain, args=(terminal, shown), daemon=True).start()
    until(lambda: b"Run them now" in shown, "the question")
    assert b"echo started" in shown
    os.write(terminal, b"y\n")
    until(lambda: tmux.sessions().get("agx-repo-main") and tmux.sessions()["agx-repo-main"].attached, "the attachment")
    server.run("kill-session", "-t", "=agx-repo-main")
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) in (0, 1)
    raw = store.session("main")
    assert raw["tmux"]["isActive"] is False and raw["lifecycle"]["state"] == "paused"
    assert raw["tmux"]["sessionName"] == "agx-repo-main"


def _drain(terminal: int, shown: bytearray) -> None:
    try:
        while part := os.read(terminal, 65536):
            shown.extend(part)
    except OSError:
        return


def test_without_a_terminal_it_says_what_to_do(store: Store, server: Server) -> None:
    store.agx.new(store.root, "main")
    command = [sys.executable, "-m", "dagentd", "agx", "open"]
    quiet = {"cwd": store.root, "capture_output": True, "text": True, "stdin": subprocess.DEVNULL}
    refused = subprocess.run(command, **quiet, check=False)  # type: ignore[call-overload]
    assert refused.returncode == 1 and "--detached" in refused.stderr
    made = subprocess.run([*command, "--detached"], **quiet, check=True)  # type: ignore[call-overload]
    assert made.stdout == "agx-repo-main was made: tmux attach -t '=agx-repo-main'\n"
    configure(store, {"name": "w", "path": ".", "command": "true"})
    server.run("kill-server")
    until(lambda: not tmux.sessions(), "the end")
    refused = subprocess.run([*command, "--detached"], **quiet, check=False)  # type: ignore[call-overload]
    assert refused.returncode == 1 and "--yes" in refused.stderr and "true" in refused.stdout
