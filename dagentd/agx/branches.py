"""The session of the branch that is checked out: made or entered at a checkout, its git fields renewed at a commit."""

from __future__ import annotations

import contextlib
from datetime import datetime

from dagentd.adapters.git.command import ask, checkout_status
from dagentd.adapters.git.repository import Head, head
from dagentd.agx import lifecycle, session_document
from dagentd.agx.session_document import Git
from dagentd.agx.session_files import AgxSessions, AgxWriter
from dagentd.agx.values import Raw, section_of
from dagentd.errors import DagentdError

CHECKOUT, LEFT, MERGED = "branch_checkout", "branch_left", "branch_merged"
_COMMITS = "5000"  # that are looked at when the default branch moved


def follow(sessions: AgxSessions, now: datetime) -> None:
    """The project's own checkout is meant, none of its worktrees. What git says of a detached HEAD belongs to no
    branch, so it goes nowhere."""
    where = head(sessions.folder.root)
    if where.branch is None:
        return
    last, current = sessions.last_branch(), sessions.current()
    moved = last != where.branch and (last is not None or current is None)
    wanted = sessions.config.branch_sessions and sessions.config.auto_create
    session_id = sessions.of_branch(where.branch)
    there = session_id in sessions.folder.ids()
    if there and not moved and last is not None and _is_known(sessions.load(session_id), where):
        return
    if not there and not wanted and last == where.branch:
        return
    git = state(sessions, where) if there or wanted else Git()
    merged = _merged(sessions, sessions.load(session_id), where) if there else []
    with sessions.writing() as writing:
        if not there and wanted:
            writing.create(
                session_document.new(session_id, sessions.folder.root, sessions.config, where.branch, git, now)
            )
        if there or wanted:
            _renew(sessions, writing, session_id, git, now, enter=moved and wanted)
        for each in merged:
            writing.update(each, lambda raw: lifecycle.moved(raw, "completed", MERGED, now), now)
        writing.set_branch(where.branch)  # last: until then a checkout that was only half followed is found again


def _renew(sessions: AgxSessions, writing: AgxWriter, session_id: str, git: Git, now: datetime, *, enter: bool) -> None:
    def change(raw: Raw) -> Raw:
        raw = session_document.with_git(raw, git)
        return session_document.entered(raw, CHECKOUT, now) if enter else raw

    writing.update(session_id, lambda raw: session_document.accessed(change(raw), now), now)
    if enter:
        make_current(sessions, writing, session_id, LEFT, now)


def make_current(sessions: AgxSessions, writing: AgxWriter, entered: str, reason: str, now: datetime) -> None:
    """The session that was current until now pauses, unless its tmux session runs; one that cannot be read holds up
    nobody."""

    def change(raw: Raw) -> Raw:
        runs = section_of(raw, "tmux").get("isActive") is True or lifecycle.state_of(raw) != "active"
        return raw if runs else session_document.left(raw, "paused", reason, now)

    before = sessions.current()
    if before is not None and before != entered:
        with contextlib.suppress(DagentdError):
            writing.update(before, change, now)
    writing.set_current(entered)


def _merged(sessions: AgxSessions, own: Raw, where: Head) -> list[str]:
    """Sessions of branches that have come into the default one with its last move. Its own commits are told from those
    of a branch that was fast-forwarded by what that branch's session has seen being made."""
    before, root = section_of(own, "project").get("gitCommit"), sessions.folder.root
    if not session_document.is_default(own) or not before or not where.commit or where.commit.startswith(before):
        return []
    others = [raw for raw in sessions.all()[0] if _could_be_merged(raw, own)]
    if not others:
        return []
    try:
        new = [ask(root, "rev-list", "--max-count", _COMMITS, *options, where.commit, f"^{before}", "--").split()
               for options in ((), ("--first-parent",))]  # fmt: skip
    except DagentdError:  # what was there before is gone, as after a rebase
        return []
    straight = {each[: len(before)] for each in new[1]}
    every = {each[: len(before)] for each in new[0]}
    found = []
    for raw in others:
        tip, start = (section_of(raw, "project").get(name) for name in ("gitCommit", "gitStart"))
        if tip in every and (tip not in straight or (start and start != tip)):
            found.append(str(raw["sessionId"]))
    return found


def _could_be_merged(raw: Raw, own: Raw) -> bool:
    runs = section_of(raw, "tmux").get("isActive") is True
    ended = lifecycle.state_of(raw) in ("completed", "archived")
    return (
        raw["sessionId"] != own["sessionId"] and session_document.branch_of(raw) is not None and not runs and not ended
    )


def state(sessions: AgxSessions, where: Head) -> Git:
    found = checkout_status(sessions.folder.root)
    return Git(where.branch, where.commit, found.remote, found.dirty)


def _is_known(raw: Raw, where: Head) -> bool:
    held = section_of(raw, "project")
    commit = held.get("gitCommit")
    same = (where.commit or "").startswith(commit) if isinstance(commit, str) and commit else where.commit is None
    return held.get("gitBranch") == where.branch and same
