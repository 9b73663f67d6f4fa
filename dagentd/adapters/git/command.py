"""The git command line: for what libgit2 cannot read, and for asking git itself how it sees things."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from dagentd.adapters.process import check_descriptors
from dagentd.errors import DagentdError, LimitReached, NotAllowed

PATIENCE = 10.0  # seconds; a repository on a sleeping disk or a dead mount must not hold a thread for ever
# fsmonitor=false: asking git for its status would start a daemon of its own.
_QUIET = ("git", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false", "--no-pager")


def ask(folder: Path, *arguments: str, told: bytes = b"", answers: tuple[int, ...] = (0,)) -> str:
    """What git prints, run in a folder and told something on its standard input; a DagentdError with git's own words
    if it refuses. `answers` are the exit statuses that are none: some commands say "no" by 1."""
    try:
        check_descriptors()
        done = subprocess.run(
            [*_QUIET, *arguments], cwd=folder, env=environment(), input=told, capture_output=True,
            timeout=PATIENCE, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        limit = f"git did not answer in {PATIENCE:.0f} s"
        raise LimitReached(limit, path=folder, hint="Look at the disk and at dmesg.") from None
    except OSError as error:
        missing = error.filename == "git" or not folder.is_dir()
        reason = "the folder or the git command is not there" if missing else f"git cannot be run: {error.strerror}"
        raise NotAllowed(reason, path=folder, hint="Install git, or look at PATH of the service.") from None
    if done.returncode not in answers:
        raise DagentdError(_reason(done), path=folder, hint="Try `git status` there.")
    return os.fsdecode(done.stdout)


def environment() -> dict[str, str]:
    """Ours without GIT_*: in a hook of a linked worktree those name another repository, absolutely. No lock is taken,
    nothing is asked on the terminal, and the words are English. Nothing is fetched: in a partial clone, git would load
    an absent object from the network and write it; the first variable stops that since 2.45, the second always. What
    `git replace` put in the place of a commit is not followed: libgit2 does not know it."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    alone = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_REPLACE_OBJECTS": "1"}
    return {**own, **alone, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}


def _reason(done: subprocess.CompletedProcess[bytes]) -> str:
    """The line that says why, with the next if it only announces that one: the rest is advice for somebody at a
    terminal, or a warning before it."""
    lines = os.fsdecode(done.stderr).strip().splitlines()
    if not lines:
        return f"git ended with status {done.returncode}"
    at = next((number for number, line in enumerate(lines) if line.startswith("fatal:")), 0)
    more = f" {lines[at + 1].strip()}" if lines[at].endswith(":") and at + 1 < len(lines) else ""
    return f"git says: {lines[at]}{more}"
