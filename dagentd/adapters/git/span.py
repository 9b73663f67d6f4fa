"""The commits of a span of time, as git has them in a worktree."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from dagentd.adapters.git.command import ask
from dagentd.errors import DagentdError

_MOST = 30  # the newest


def commits_between(worktree: Path, first: str, last: str) -> list[tuple[str, str]]:
    """Short hash and subject, the oldest first, of what was committed between two moments; nothing where git cannot
    say."""
    # git counts in seconds: what was committed in the second of the first message was there before it.
    since, until = datetime.fromisoformat(first[:19]) + timedelta(seconds=1), last[:19]
    form = ("--first-parent", "--no-show-signature", f"--max-count={_MOST}", "--format=%h %s")
    try:
        told = ask(worktree, "log", f"--since={since.isoformat()}Z", f"--until={until}Z", *form, "HEAD", "--")
    except DagentdError:
        return []
    pairs = (line.partition(" ") for line in reversed(told.splitlines()))
    return [(sha[:7], subject) for sha, _, subject in pairs if subject]
