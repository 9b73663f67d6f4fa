"""Claude Code in a terminal, as a user has it: keys are typed, and what the screen shows is waited for."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.agents.programs import ClaudeCode
from tests.patience import until


@dataclass(frozen=True)
class Terminal:
    socket: Path
    environ: dict[str, str]

    def run(self, *arguments: str) -> str:
        line = ["tmux", "-u", "-S", str(self.socket), "-f", "/dev/null", *arguments]
        return subprocess.run(line, env=self.environ, capture_output=True, text=True, check=True).stdout

    def shows(self, text: str, shown: bool = True, seconds: float = 60) -> None:
        until(lambda: (text in self._screen()) is shown, f"{text!r}, shown: {shown},", seconds)

    def answers(self, text: str) -> None:
        """Shows the text, and works no more: its hooks have run."""
        self.shows(text)
        self.shows("esc to interrupt", shown=False)

    def enter(self, text: str) -> None:
        """Typed, seen, and only then sent off: with keys that come at once it takes the last for a line break. What is
        typed while it begins something may be lost, and is typed again."""
        until(lambda: self._typed(text), f"{text!r} in its prompt", 10)
        self.run("send-keys", "Enter")

    def _typed(self, text: str) -> bool:
        if f"❯\xa0{text}\n" not in self._screen():
            self.run("send-keys", "C-u")
            self.run("send-keys", "-l", text)
            with contextlib.suppress(AssertionError):
                self.shows(f"❯\xa0{text}\n", seconds=2)
        return f"❯\xa0{text}\n" in self._screen()

    def _screen(self) -> str:
        return self.run("capture-pane", "-p")


@contextmanager
def opened(claude: ClaudeCode, cwd: Path) -> Iterator[Terminal]:
    """Past the questions that it asks whoever runs it for the first time."""
    if shutil.which("tmux") is None:
        pytest.skip("there is no tmux here; `make test` installs it where it may")
    about = {"hasCompletedOnboarding": True, "projects": {str(cwd): {"hasTrustDialogAccepted": True}},
             "customApiKeyResponses": {"approved": ["any"], "rejected": []}}  # fmt: skip
    settings = claude.home / ".claude.json"
    known = json.loads(settings.read_text()) if settings.exists() else {}
    settings.write_text(json.dumps({**known, **about}))
    folder = Path(tempfile.mkdtemp(prefix="tm-", dir="/tmp"))  # a socket's path must be short
    terminal = Terminal(folder / "socket", {**claude.environ, "TERM": "xterm-256color"})
    try:
        terminal.run("new-session", "-d", "-x", "160", "-y", "50", "-c", str(cwd), str(claude.program))
        terminal.shows("❯")
        yield terminal
    finally:
        subprocess.run(["tmux", "-S", str(terminal.socket), "kill-server"], capture_output=True, check=False)
        shutil.rmtree(folder, ignore_errors=True)
