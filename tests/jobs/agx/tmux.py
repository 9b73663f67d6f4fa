"""A real tmux server, of one test alone."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


class Server:
    """The default server of this test's environment: its socket is in a folder of its own."""

    def run(self, *arguments: str) -> str:
        done = subprocess.run(["tmux", "-u", *arguments], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def windows(self, name: str) -> list[tuple[str, str]]:
        """Name and folder of each window."""
        lines = self.run("list-windows", "-t", f"={name}", "-F", "#{window_name}\t#{pane_current_path}").splitlines()
        return [(window, path) for window, _, path in (line.partition("\t") for line in lines)]

    def names(self) -> list[str]:
        return self.run("list-sessions", "-F", "#{session_name}").splitlines()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    if shutil.which("tmux") is None:
        pytest.skip("there is no tmux here; `make test` installs it where it may")
    folder = Path(tempfile.mkdtemp(prefix="tm-", dir="/tmp"))  # a socket's path must be short
    monkeypatch.setenv("TMUX_TMPDIR", str(folder))
    monkeypatch.setenv("SHELL", "/bin/sh")
    try:
        yield Server()
    finally:
        subprocess.run(["tmux", "kill-server"], capture_output=True, check=False)
        shutil.rmtree(folder, ignore_errors=True)
