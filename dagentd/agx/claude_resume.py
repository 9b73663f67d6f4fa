"""Claude: the conversation that a session goes on with, as the user, a hook or Claude Code's own files say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import Protocol

from dagentd.agx import session_document
from dagentd.agx.configuration import Config
from dagentd.agx.session_document import Claude
from dagentd.agx.session_files import AgxSessions
from dagentd.agx.values import Raw, section_of, stamp
from dagentd.model import ids, times


class Conversations(Protocol):
    """The conversations that Claude Code has of a project; `dagentd.agents`, which stands above AGX, reads them."""

    def newest(self, root: Path) -> list[Claude]: ...

    def find(self, root: Path, uuid: str) -> Claude | None: ...


class ClaudeConversations:
    def __init__(self, there: Callable[[], Conversations]) -> None:
        self._load = there
        self._seen: dict[Path, tuple[list[Claude], Config]] = {}

    @cached_property
    def _there(self) -> Conversations:
        """Loads with its first use: most commands do without."""
        return self._load()

    def refresh(self, sessions: AgxSessions, now: datetime) -> None:
        """The newest conversation on a session's branch is its own, unless it was given a later one."""
        root, config = sessions.folder.root, sessions.config
        found = self._there.newest(root)
        if not found or self._seen.get(root) == (found, config):
            return
        due = {}
        for raw in sessions.all()[0]:
            claude = _own(raw, found)
            if claude is not None and session_document.with_claude(raw, claude, config) != raw:
                due[str(raw["sessionId"])] = claude
        if due:
            with sessions.writing() as writing:
                for session_id, claude in due.items():
                    writing.update(session_id, partial(session_document.with_claude, found=claude, config=config), now)
        self._seen[root] = found, config

    def given(self, root: Path, claude_id: str, now: datetime) -> Claude:
        """A conversation that was named; whether it can be resumed is for Claude Code's files to say, if it has any."""
        ids.checked(claude_id, "Claude session id")
        if (found := self._there.find(root, claude_id)) is not None:
            return replace(found, last=found.last or stamp(now))
        known = bool(self._there.newest(root))
        problem = "Claude Code has no such session for this project" if known else None
        return Claude(claude_id, can_resume=not known, problem=problem, last=stamp(now))


def _own(raw: Raw, found: list[Claude]) -> Claude | None:
    held = section_of(raw, "claude")
    branch = section_of(raw, "project").get("gitBranch")
    on_branch = [each for each in found if each.branch == branch and each.messages]
    is_branch = branch is not None and session_document.branch_of(raw) == branch  # and was not named by the user
    newest = max(on_branch, key=lambda each: times.parse(each.last) or times.NEVER, default=None)
    if newest is not None and is_branch and times.later(newest.last, held.get("lastInteraction")):
        return newest
    return next((each for each in found if each.session_id == held.get("sessionId")), None)
