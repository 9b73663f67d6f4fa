"""The git command line: for what libgit2 cannot read, and for asking git itself how it sees things."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from dagentd.errors import DagentdError, LimitReached, NotAllowed

PATIENCE = 10.0  # seconds; a repository on a sleeping disk or a dead mount must not hold a thread for ever
# fsmonitor=false: asking git for its status would start a daemon of its own.
_QUIET = ("git", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false", "--no-pager")


def ask(folder: Path, *arguments: str) -> str:
    """What git prints, run in a folder; a DagentdError with git's own words if it refuses."""
    try:
        done = subprocess.run(
            [*_QUIET, *arguments], cwd=folder, env=environment(), stdin=subprocess.DEVNULL, capture_output=True,
            timeout=PATIENCE, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        told = f"git did not answer in {PATIENCE:.0f} s"
        raise LimitReached(told, path=folder, hint="Look at the disk and at dmesg.") from None
    except OSError as error:
        missing = error.filename == "git" or not folder.is_dir()
        told = "the folder or the git command is not there" if missing else f"git cannot be run: {error.strerror}"
        raise NotAllowed(told, path=folder, hint="Install git, or look at PATH of the service.") from None
    if done.returncode != 0:
        raise DagentdError(_reason(done), path=folder, hint=f"Try `git {arguments[0]}` there.")
    return os.fsdecode(done.stdout)


def environment() -> dict[str, str]:
    """Ours without GIT_*: in a hook of a linked worktree those name another repository, absolutely. No lock is taken,
    nothing is asked on the terminal, and the words are English."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {**own, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}


def _reason(done: subprocess.CompletedProcess[bytes]) -> str:
    """Its first line: the rest is advice for somebody at a terminal."""
    lines = os.fsdecode(done.stderr).strip().splitlines()
    return f"git says: {lines[0]}" if lines else f"git ended with status {done.returncode}"
