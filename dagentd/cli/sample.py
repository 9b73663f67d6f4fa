"""A sample repository: one worktree of an agent, with the files that the desktop app leaves there."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from dagentd.adapters import disk, files
from dagentd.model import jsontext

FEATURE = "login"
SESSION = f"pm-feature-{FEATURE}"
_IDENTITY = ("-c", "user.name=dagentd demo", "-c", "user.email=demo@localhost", "-c", "core.hooksPath=/dev/null")
_SAID = (
    ("user", "Plan the login. Constraint: no passwords, GitHub only."),
    ("assistant", "Two tasks: the OAuth callback, then the session cookie. I decided to keep tokens server-side."),
    ("user", "Good. Start with the callback."),
)


class Sample:
    def __init__(self, folder: Path) -> None:
        self.root = folder / "shop"
        self.sessions = self.root / ".dagent-worktrees" / FEATURE / ".dagent" / "sessions"
        self.chat = self.sessions / f"chat_{SESSION}.json"

    def make(self) -> None:
        self._git("init", "-q", str(self.root), cwd=self.root.parent)
        files.put(self.root / "README.md", b"# Shop\n", sync=False)
        self._git("add", "README.md")
        self._git("commit", "-q", "-m", "Open the shop")
        self._git("worktree", "add", "-q", "-b", FEATURE, f".dagent-worktrees/{FEATURE}")
        disk.make_folders(self.sessions)
        self._write_json(self.sessions.parent / "feature.json", {"id": FEATURE, "name": "Login", "status": "planning"})
        at = "2026-01-17T10:00:00.000Z"
        session = {"id": SESSION, "type": "feature", "agentType": "pm", "featureId": FEATURE, "status": "active",
                   "createdAt": at, "updatedAt": at}  # fmt: skip
        self._write_json(self.sessions / f"session_{SESSION}.json", session)
        self.write_chat({"messages": [_message(number) for number in range(2)]})

    def write_chat(self, chat: dict[str, Any]) -> None:
        self._write_json(self.chat, chat)

    def read_chat(self) -> dict[str, Any]:
        return jsontext.decode_object(files.read(self.chat))

    def app_adds(self) -> None:
        """As the app does: read, push, write."""
        chat = self.read_chat()
        self.write_chat({**chat, "messages": [*chat["messages"], _message(2)]})

    def tear(self) -> None:
        """What a crash of the app in the middle of a write leaves."""
        files.put(self.chat, files.read(self.chat)[:150], sync=False)

    def _write_json(self, path: Path, raw: dict[str, Any]) -> None:
        files.put(path, jsontext.pretty(raw), sync=False)

    def _git(self, *arguments: str, cwd: Path | None = None) -> None:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        command = ["git", *_IDENTITY, *arguments]
        subprocess.run(command, cwd=cwd or self.root, env=clean, check=True, capture_output=True, timeout=60)


def _message(number: int) -> dict[str, Any]:
    role, content = _SAID[number]
    return {"id": f"demo-{number + 1}", "role": role, "content": content,
            "timestamp": f"2026-01-17T10:0{number}:00.000Z"}  # fmt: skip
