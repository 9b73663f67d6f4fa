"""The user's tmux server: what runs there, and new sessions. Where there is no tmux, nothing runs."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from dagentd.adapters.process import check_descriptors
from dagentd.errors import DagentdError, LimitReached, NotAllowed


@dataclass(frozen=True)
class TmuxSession:
    """A session of the tmux server."""

    name: str
    windows: int
    attached: int  # clients
    last_attached: datetime | None
    path: str
    activity: datetime | None = None  # when somebody last typed in it


@dataclass(frozen=True)
class Window:
    name: str
    path: str | None = None  # None: in the working directory
    command: str | None = None


_PATIENCE = 5.0  # seconds for a server that does not answer
_FORM = "\t".join(
    f"#{{session_{name}}}" for name in ("name", "windows", "attached", "last_attached", "activity", "path")
)  # the path last: it may have anything in it
_INSTALL = "Install tmux (apt install tmux, brew install tmux)."


def sessions() -> dict[str, TmuxSession]:
    """By name. No server is started by asking, and without its socket no process either."""
    if not os.path.exists(_socket()):
        return {}
    try:
        done = _run("list-sessions", "-F", _FORM)
    except FileNotFoundError:
        return {}
    if done.returncode != 0:  # no server, or one without sessions
        return {}
    found = (_parsed(line) for line in done.stdout.splitlines())
    return {each.name: each for each in found if each is not None}


def create(name: str, windows: Sequence[Window], startup: str | None, patience: float = _PATIENCE) -> None:
    """A session of these windows, detached. A window's command is typed into its shell, which stays when it ends."""
    for number, window in enumerate(windows):
        new = ("new-window", "-d", "-t", f"={name}:") if number else ("new-session", "-d", "-s", name)
        there = ("-n", _literally(window.name), "-c", _literally(window.path or "."))
        pane = _told(name, *new, *there, "-P", "-F", "#{pane_id}", patience=patience).strip()
        for command in (startup, window.command):
            if command:
                _told(name, "send-keys", "-t", pane, "-l", command, patience=patience)
                _told(name, "send-keys", "-t", pane, "Enter", patience=patience)


def attach(name: str) -> int:
    """Show it in this terminal until the user leaves it; inside of the same server, by switching to it."""
    inside = os.environ.get("TMUX", "").partition(",")[0]
    if inside and os.path.realpath(inside) == os.path.realpath(_socket()):
        return subprocess.run(["tmux", "switch-client", "-t", f"={name}"], check=False).returncode
    line = ["tmux", "-u", "attach-session", "-t", f"={name}"]
    return subprocess.run(line, env=_environment(), check=False).returncode


def _told(name: str, *arguments: str, patience: float) -> str:
    try:
        done = _run(*arguments, patience=patience)
    except FileNotFoundError:
        raise NotAllowed("there is no tmux here", hint=_INSTALL) from None
    if done.returncode != 0:
        reason = done.stderr.strip() or f"it ended with status {done.returncode}"
        raise DagentdError(f"tmux cannot open {name}: {reason}", hint="Try `tmux new-session`.")
    return done.stdout


def _literally(text: str) -> str:
    """tmux takes names and folders for formats: a window named `#(command)` would run that command."""
    return text.replace("#", "##")


def _run(*arguments: str, patience: float = _PATIENCE) -> subprocess.CompletedProcess[str]:
    try:
        check_descriptors()
        return subprocess.run(
            ["tmux", "-u", *arguments], env=_environment(), stdin=subprocess.DEVNULL, capture_output=True,
            encoding="utf-8", errors="surrogateescape", timeout=patience, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        limit = f"tmux did not answer in {patience:.0f} s"
        raise LimitReached(limit, path=_socket(), hint="Look at `tmux list-sessions`.") from None
    except PermissionError as error:
        raise NotAllowed(f"tmux cannot be run: {error.strerror}", hint=_INSTALL) from None


def _environment() -> dict[str, str]:
    """Ours without what names another server or a pane of it: one server is meant, whoever asks."""
    return {name: value for name, value in os.environ.items() if name not in ("TMUX", "TMUX_PANE")}


def _socket() -> Path:
    return Path(os.environ.get("TMUX_TMPDIR") or "/tmp", f"tmux-{os.getuid()}", "default")


def _parsed(line: str) -> TmuxSession | None:
    parts = line.split("\t", 5)
    if len(parts) != 6 or not parts[1].isdecimal():
        return None
    name, windows, attached, last, activity, path = parts
    clients = int(attached) if attached.isdecimal() else 0
    return TmuxSession(name, int(windows), clients, _moment(last), path, _moment(activity))


def _moment(text: str) -> datetime | None:
    return datetime.fromtimestamp(int(text), UTC) if text.isdecimal() and int(text) else None
