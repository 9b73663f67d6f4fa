"""The programs `claude` and `codex`: where each is, its version, and its own commands for plug-ins."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

# What is done here needs no network, and is nobody else's business.
_QUIET = ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER")
_PATIENCE = 60.0  # seconds; 0.3 are usual

Version = tuple[int, ...]


def find(name: str) -> str | None:
    """The one that the user would start."""
    return shutil.which(name)


def version(program: str) -> Version | None:
    """As `claude --version` prints it; None for one that prints none."""
    found = re.search(r"\b(\d+)\.(\d+)\.(\d+)\b", run([program, "--version"], Path.home()).stdout)
    return tuple(map(int, found.groups())) if found else None


def run(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """The status is 127 if it cannot be started, 124 if it does not end."""
    try:
        return subprocess.run(
            command, cwd=folder, env={**os.environ, **dict.fromkeys(_QUIET, "1")}, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, errors="replace", timeout=_PATIENCE, check=False,
        )  # fmt: skip
    except OSError as error:
        return subprocess.CompletedProcess(command, 127, "", f"{command[0]}: {error.strerror}")
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", f"{command[0]} did not answer in {_PATIENCE:.0f} s")
