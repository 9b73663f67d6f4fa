"""The session of the branch that is checked out: made or entered at a checkout, its git fields renewed at a commit."""

from __future__ import annotations

import contextlib
from datetime import datetime

from dagentd.adapters.git.repository import Head, head
from dagentd.adapters.git.status import status
from dagentd.errors import DagentdError
from dagentd.model.agx import Raw, section, session
from dagentd.model.agx.session import Git
from dagentd.store.agx.sessions import Sessions, Writing

CHECKOUT, LEFT = "branch_checkout", "branch_left"


def follow(sessions: Sessions, now: datetime) -> bool:
    """Whether anything was written. The project's own checkout is meant, none of its worktrees. What git says of a
    detached HEAD belongs to no branch, so it goes nowhere."""
    where = head(sessions.folder.root)
    if where.branch is None:
        return False
    last, current = sessions.last_branch(), sessions.current()
    moved = last != where.branch and (last is not None or current is None)
    wanted = sessions.config.branch_sessions and sessions.config.auto_create
    session_id = sessions.of_branch(where.branch)
    there = session_id in sessions.folder.ids()
    if there and not moved and last is not None and _is_known(sessions.load(session_id), where):
        return False
    if not there and not wanted and last == where.branch:
        return False
    git = state(sessions, where) if there or wanted else Git()
    with sessions.writing() as writing:
        if not there and wanted:
            writing.create(session.new(session_id, sessions.folder.root, sessions.config, where.branch, git, now))
        if there or wanted:
            _renew(sessions, writing, session_id, git, now, enter=moved and wanted)
        writing.set_branch(where.branch)  # last: until then a checkout that was only half followed is found again
    return True


def _renew(sessions: Sessions, writing: Writing, session_id: str, git: Git, now: datetime, *, enter: bool) -> None:
    def change(raw: Raw) -> Raw:
        raw = session.with_git(raw, git)
        return session.entered(raw, CHECKOUT, now, count=sessions.config.statistics) if enter else raw

    writing.update(session_id, lambda raw: session.accessed(change(raw), now), now)
    if enter:
        leave(sessions, writing, session_id, LEFT, now)
        writing.set_current(session_id)


def leave(sessions: Sessions, writing: Writing, entered: str, reason: str, now: datetime) -> None:
    """The session that was current until now pauses; one that cannot be read holds up nobody."""
    before = sessions.current()
    if before is not None and before != entered:
        with contextlib.suppress(DagentdError):
            writing.update(before, lambda raw: session.left(raw, reason, now, count=sessions.config.statistics), now)


def state(sessions: Sessions, where: Head) -> Git:
    found = status(sessions.folder.root)
    return Git(where.branch, where.commit, found.remote, found.dirty)


def _is_known(raw: Raw, where: Head) -> bool:
    held = section(raw, "project")
    commit = held.get("gitCommit")
    same = (where.commit or "").startswith(commit) if isinstance(commit, str) and commit else where.commit is None
    return held.get("gitBranch") == where.branch and same
