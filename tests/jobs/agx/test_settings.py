"""Each setting of the two configuration files does what it says."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from dagentd.adapters import clock, tmux
from dagentd.adapters.tmux import Window
from tests.jobs.agx.tmux import Server
from tests.store.agx.agx import Store, home


@pytest.fixture
def made(store: Store) -> Store:
    """With a session `main` of before."""
    store.agx.new(store.root)
    (store.root / "src").mkdir()
    (store.root / "src" / "a.py").touch()
    return store


def colours(store: Store) -> bool:
    """Whether `agx list` has any at a terminal."""
    shown = at_terminal([sys.executable, "-m", "dagentd", "agx", "list"], store.root)
    assert b"main" in shown
    return b"\x1b[36m" in shown


def at_terminal(command: list[str], where: Path) -> bytes:
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(where)
        os.environ["TERM"] = "xterm"
        os.environ.pop("NO_COLOR", None)
        os.execv(command[0], command)
    shown = bytearray()
    with contextlib.suppress(OSError):
        while part := os.read(terminal, 65536):
            shown.extend(part)
    os.waitpid(pid, 0)
    return bytes(shown)


def of_project(store: Store, **sections: Any) -> None:
    (store.root / ".agx" / "config.json").write_text(json.dumps({"version": "1.0.0", **sections}))


def of_user(**sections: Any) -> None:
    (home() / "config.json").write_text(json.dumps({"version": "1.0.0", **sections}))


def opened(store: Store, server: Server, name: str) -> list[tuple[str, str]]:
    return server.windows(store.agx.open(store.root, name, lambda _: True)[0])


def test_windows_open_in_the_working_directory_unless_they_say_where(made: Store, server: Server) -> None:
    of_project(made, project={"workingDirectory": "src/"})
    src = str(made.root / "src")
    assert made.agx.new(made.root, "later")["tmux"]["config"]["defaultWindow"]["path"].rstrip("/") == src
    assert opened(made, server, "later") == [("main", src), ("test", src)]
    assert opened(made, server, "main") == [("main", src), ("test", src)], "one that was made before too"
    of_project(
        made, project={"workingDirectory": "src/"}, tmux={"windows": [{"name": "a"}, {"name": "b", "path": "."}]}
    )
    made.agx.new(made.root, "last")
    assert opened(made, server, "last") == [("a", src), ("b", str(made.root))]


def test_a_working_directory_that_is_not_there_is_none(made: Store, server: Server) -> None:
    of_project(made, project={"workingDirectory": "gone/"})
    assert opened(made, server, "main")[0] == ("main", str(made.root))


def test_as_many_windows_as_are_wanted(made: Store, server: Server) -> None:
    windows = [{"name": name, "path": "."} for name in ("a", "b", "c")]
    of_project(made, tmux={"windowCount": 2, "windows": windows})
    assert [name for name, _ in opened(made, server, "main")] == ["a", "b"]
    of_project(made, tmux={"windowCount": 5, "windows": windows})
    made.agx.new(made.root, "more")
    assert [name for name, _ in opened(made, server, "more")] == ["a", "b", "c", "window4", "window5"]


def test_the_usual_number_of_windows(store: Store) -> None:
    home().mkdir()
    of_user(tmux={"defaultWindowCount": 3, "windowNames": ["one", "two"]})
    held = store.agx.new(store.root)["tmux"]
    assert held["windowCount"] == 3
    assert [each["name"] for each in held["config"]["additionalWindows"]] == ["two", "window3"]


def test_the_model_and_arguments_are_in_the_command_that_resumes(made: Store) -> None:
    of_user(claude={"defaultModel": "sonnet", "defaultArgs": ["--add-dir", "a b; c"]})
    resume = made.agx.claude(made.root, "abc")["claude"]["resumeInfo"]["resumeCommand"]
    assert resume == "claude --resume abc --model sonnet --add-dir 'a b; c'"
    of_project(made, claude={"model": "opus"})
    assert "--model opus " in made.agx.claude(made.root, "abc")["claude"]["resumeInfo"]["resumeCommand"]


def test_the_files_of_the_project_are_those_that_a_conversation_begins_with(made: Store) -> None:
    of_project(made, claude={"contextFiles": ["README.md", "src/a.py", "/etc/passwd", "../x"]})
    wanted = ["README.md", "src/a.py"]
    assert made.agx.new(made.root, "x")["claude"]["contextInfo"]["workingFiles"] == wanted
    assert made.agx.claude(made.root, "abc", "main")["claude"]["contextInfo"]["workingFiles"] == wanted


def test_a_variant_of_the_project_is_made_when_it_is_first_used(made: Store, server: Server) -> None:
    of_project(made, session={"variants": ["main", "testing", "debug"]})
    assert made.agx.switch(made.root, "testing")["metadata"]["variant"] == "testing"
    assert made.current == "testing" and made.indexed()["testing"] == "active"
    opened(made, server, "debug")
    assert made.current == "debug"


def test_the_conversation_is_offered_in_its_window(made: Store, server: Server) -> None:
    made.agx.claude(made.root, "abc")
    asked: list[list[str | None]] = []

    def offer(answer: bool) -> Callable[[Sequence[Window]], bool]:
        def ask(windows: Sequence[Window]) -> bool:
            asked.append([each.command for each in windows])
            return answer

        return ask

    name, _ = made.agx.open(made.root, "main", lambda _: False, offer(False))
    assert asked == [["claude --resume abc"]] and name in tmux.sessions(), "it opens without it too"
    assert made.session("main")["claude"]["resumeInfo"]["lastResumeAttempt"] is None
    server.run("kill-session", "-t", f"={name}")
    made.agx.open(made.root, "main", lambda _: False, offer(True))
    assert made.session("main")["claude"]["resumeInfo"]["lastResumeAttempt"] is not None
    server.run("kill-session", "-t", f"={name}")
    made.agx.open(made.root, "main", lambda _: False, offer(True))
    assert len(asked) == 2, "just this command was confirmed"
    server.run("kill-session", "-t", f"={name}")
    of_project(made, claude={"model": "opus"})
    made.agx.open(made.root, "main", lambda _: False, offer(True))
    resume = made.session("main")["claude"]["resumeInfo"]["resumeCommand"]
    assert asked[2:] == [[resume]] == [["claude --resume abc --model opus"]], "what runs is what it says from then on"


def test_a_conversation_that_cannot_be_resumed_is_not_offered(made: Store, server: Server) -> None:
    raw = made.agx.claude(made.root, "abc")
    raw["claude"]["sessionId"] = "x; rm -rf ~"
    made.write("main", raw)
    made.agx.open(made.root, "main", lambda _: False, lambda _: pytest.fail("it was offered"))


def test_an_index_that_asks_for_another_time_is_checked_then(made: Store) -> None:
    assert made.agx.interval() == 300
    of_user(storage={"indexSyncInterval": "10m"})
    assert made.agx.interval() == 600
    made.index_file.write_text(json.dumps({**made.index, "syncInterval": "30s"}))
    made.agx.check_all()
    assert made.agx.interval() == 30 and made.index["syncInterval"] == "30s"


def test_colours_can_be_switched_off(made: Store) -> None:
    assert colours(made)
    of_user(ui={"colorOutput": False})
    assert not colours(made)


def test_what_is_done_is_logged_and_the_log_is_kept_for_some_days(made: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    logs, start = home() / "logs", datetime(2031, 3, 1, 12, tzinfo=UTC)
    monkeypatch.setattr(clock, "now", lambda: start)
    (logs / "notes.log").write_text("theirs")
    (logs / "agx-2031-02-21.log").write_text("eight days ago, by another program")
    (logs / "agx-2031-02-23.log").write_text("six")
    made.agx.new(made.root, "side")
    made.agx.archive(made.root, "side")
    lines = (logs / "agx-2031-03-01.log").read_text().splitlines()
    assert lines == [
        f"2031-03-01T12:00:00Z {made.root} side: active (initial_switch)",
        f"2031-03-01T12:00:00Z {made.root} main: paused (switched)",
        f"2031-03-01T12:00:00Z {made.root} side: archived (archived_by_user)",
    ]
    assert (logs / "agx-2031-03-01.log").stat().st_mode & 0o777 == 0o600
    made.agx.check_all()
    kept = {path.name for path in logs.iterdir()}
    assert "agx-2031-02-21.log" not in kept and {"notes.log", "agx-2031-02-23.log", "agx-2031-03-01.log"} <= kept
    of_user(storage={"logRetentionDays": 1})
    monkeypatch.setattr(clock, "now", lambda: start + timedelta(days=2))
    made.agx.check_all()
    assert sorted(path.name for path in logs.iterdir()) == ["notes.log"]
