"""A sample repository: a shop, in it one worktree of an agent, with the chat that an older desktop app left there."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from dagentd.adapters.files import atomic, disk
from dagentd.model import jsontext

FEATURE = "login"
SESSION = f"pm-feature-{FEATURE}"
LIMIT = 3000  # tokens: a budget that one screen of output exceeds
_SETTINGS = f"[budget]\nlimit = {LIMIT}\nprompt_buffer = 100\n"
_CHAT = (
    ("user", "We need a login. Constraint: never store passwords, GitHub sign-in only."),
    ("assistant", "I decided to keep the GitHub token on the server, because a cookie can be stolen."),
    ("user", "Cookies must be HttpOnly and expire after 30 days."),
    ("assistant", "The OAuth callback is done: src/auth/callback.ts exchanges the code for a token."),
    ("user", "Please write the session cookie next."),
)
# What the agent says next: as long as what its tools print.
_LINES = "\n".join(f"  PASS test/auth/callback_{n}.test.ts  302 to /account, one cookie" for n in range(1, 61))
OUTPUT = f"The tests say:\n\n```\n{_LINES}\n```\n"


class Sample:
    def __init__(self, folder: Path) -> None:
        self._home = folder
        self.root = folder / "shop"
        self.worktree = self.root / ".dagent-worktrees" / FEATURE

    def make(self) -> None:
        self._git("init", "-q", "-b", "main", str(self.root), cwd=self._home)
        self._write(self.root / "README.md", b"# Shop\n")
        self.commit(self.root, "Open the shop")
        self._git("worktree", "add", "-q", "-b", FEATURE, str(self.worktree))
        for folder in (self.root / ".dagent", self.worktree / ".dagent"):
            disk.make_folders(folder)
        self._write(self.root / ".dagent" / "config.toml", _SETTINGS.encode())
        self._write_json("feature.json", {"id": FEATURE, "name": "Login", "status": "in_progress"})
        entries = [{"type": role, "text": text, "timestamp": f"2025-03-14T10:{minute:02}:00Z"}
                   for minute, (role, text) in enumerate(_CHAT)]  # fmt: skip
        self._write_json("chat.json", {"entries": entries})

    def commit(self, worktree: Path, subject: str) -> None:
        self._git("add", "README.md", cwd=worktree)
        self._git("commit", "-q", "-m", subject, cwd=worktree)

    def sell(self, what: str) -> None:
        """A commit of the agent's."""
        self._write(self.worktree / "README.md", f"# Shop\n\nWe sell {what}.\n".encode())
        self.commit(self.worktree, f"Sell {what}")

    def _write_json(self, name: str, raw: dict[str, Any]) -> None:
        self._write(self.worktree / ".dagent" / name, jsontext.pretty(raw))

    def _write(self, path: Path, data: bytes) -> None:
        atomic.put(path, data, sync=False)

    def _git(self, *arguments: str, cwd: Path | None = None) -> None:
        """Nothing of the user's own git is heeded: no identity, no signing, no templates with hooks."""
        who = {f"GIT_{role}_{part}": value for role in ("AUTHOR", "COMMITTER")
               for part, value in (("NAME", "dagentd demo"), ("EMAIL", "demo@localhost"))}  # fmt: skip
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        alone = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(self._home)}
        command = ["git", *arguments]
        where, env = cwd or self.root, inherited | who | alone
        subprocess.run(command, cwd=where, env=env, check=True, capture_output=True, timeout=60)
