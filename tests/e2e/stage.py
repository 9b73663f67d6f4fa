"""Where transcripts are played: the home of somebody who uses dagentd, with a repository in it.

Nothing of the machine's own home is seen. The folders have names as long as those that a transcript shows instead of
them (`/home/you`, `/run/user/1000`), because tables are laid out by the length of what is in them.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests import warm
from tests.e2e.daemon import processes_with, until
from tests.patience import patience

HOME, RUNTIME = "/home/you", "/run/user/1000"
_DATE = "2025-03-14T10:00:00Z"
_CHAT = (
    ("user", "Plan the login. Constraint: no passwords, GitHub only."),
    ("assistant", "Two tasks: the OAuth callback, then the session cookie. I decided to keep tokens server-side."),
    ("user", "Good. Start with the callback."),
)
_OLD = {
    "entries": [
        {"type": "user", "text": "Can the basket survive a reload?", "timestamp": "2025-02-01T09:00:00Z"},
        {"type": "assistant", "text": "Yes: it goes into localStorage.", "timestamp": "2025-02-01T09:00:20Z"},
    ]
}


class Stage:
    """`before` is a sentence out of BEFORE: what is there when the curtain rises."""

    def __init__(self, home: Path, runtime: Path) -> None:
        self.home, self.runtime = home, runtime
        self.shop = home / "shop"
        path = f"{home}/.local/bin:{os.environ['PATH']}"
        self.env = {"HOME": str(home), "XDG_RUNTIME_DIR": str(runtime), "PATH": path, "LANG": "C.UTF-8",
                    "TERM": "xterm-256color", "GIT_AUTHOR_DATE": _DATE, "GIT_COMMITTER_DATE": _DATE}  # fmt: skip

    def run(self, *command: str, cwd: Path | None = None) -> str:
        more: dict[str, Any] = {"cwd": cwd or self.shop, "env": self.env, "timeout": patience()}
        if command[0] == "dagentd":
            done = warm.run(*command[1:], **more)
        else:
            done = subprocess.run(command, capture_output=True, text=True, **more)
        assert done.returncode == 0, done.stdout + done.stderr
        return str(done.stdout)

    def processes(self) -> list[int]:
        return processes_with(f"XDG_RUNTIME_DIR={self.runtime}")

    # --- what is there -------------------------------------------------------------------------------------

    def furnish(self) -> None:
        """dagentd is installed, and git knows who you are."""
        command = self.home / ".local" / "bin" / "dagentd"
        command.parent.mkdir(parents=True)
        command.write_text(f'#!/bin/sh\nexec {sys.executable} -m dagentd "$@"\n')
        command.chmod(0o755)
        settings = "[user]\n\tname = You\n\temail = you@example.org\n[init]\n\tdefaultBranch = main\n"
        (self.home / ".gitconfig").write_text(settings)

    def repository(self) -> None:
        self.run("git", "init", "-q", str(self.shop), cwd=self.home)
        (self.shop / "README.md").write_text("# Shop\n")
        self.run("git", "add", "README.md")
        self.run("git", "commit", "-q", "-m", "Open the shop")

    def session(self) -> None:
        """As the desktop app leaves it."""
        self.repository()
        folder = self.worktree("login", "Login")
        made = {"id": "pm-feature-login", "type": "feature", "agentType": "pm", "featureId": "login",
                "status": "active", "createdAt": "2025-03-14T10:00:00.000Z",
                "updatedAt": "2025-03-14T10:02:00.000Z"}  # fmt: skip
        said = [{"id": f"m{number}", "role": role, "content": content, "timestamp": f"2025-03-14T10:0{number}:00.000Z"}
                for number, (role, content) in enumerate(_CHAT)]  # fmt: skip
        _write(folder / "sessions" / "session_pm-feature-login.json", made)
        _write(folder / "sessions" / "chat_pm-feature-login.json", {"messages": said})

    def older_chat(self) -> None:
        self.session()
        _write(self.worktree("basket", "Basket") / "chat.json", _OLD)

    def served(self) -> None:
        self.session()
        self.run("dagentd", "init")
        self.run("dagentd", "run", "--once")
        until(lambda: "nothing to do" in self.run("dagentd", "status"), "the end of what it does at its start")

    def worktree(self, feature: str, name: str) -> Path:
        """Its .dagent folder."""
        self.run("git", "worktree", "add", "-q", "-b", feature, f".dagent-worktrees/{feature}")
        folder = self.shop / ".dagent-worktrees" / feature / ".dagent"
        _write(folder / "feature.json", {"id": feature, "name": name, "status": "in_progress"})
        return folder


BEFORE = {
    "an empty home": lambda stage: stage.shop.mkdir(),
    "a repository": Stage.repository,
    "a repository with a session": Stage.session,
    "a repository with a session, and a chat of an older version": Stage.older_chat,
    "a repository with a session, and the daemon serves it": Stage.served,
}


@contextlib.contextmanager
def stage(before: str) -> Iterator[Stage]:
    """Whatever is started on it has ended when the curtain falls."""
    made = Stage(_folder(HOME), _folder(RUNTIME))
    try:
        made.furnish()
        BEFORE[before](made)
        yield made
    finally:
        for pid in made.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        until(lambda: not made.processes(), "the end of all that was started")
        for folder in (made.home, made.runtime):
            shutil.rmtree(folder, ignore_errors=True)


def _folder(shown: str) -> Path:
    """A new one under /tmp, whose path is as long as the one shown. Its name is a number, because all numbers of a
    length have equally many tokens."""
    while True:
        name = "".join(secrets.choice("0123456789") for _ in range(len(shown) - len("/tmp/")))
        with contextlib.suppress(FileExistsError):
            os.mkdir(path := Path("/tmp", name), 0o700)
            return path


def _write(path: Path, raw: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(raw, indent=2))
