"""Actions on an AGX session that somebody asks for: each under the project's AGX lock, each answering the document."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime

from dagentd.adapters.git.repository import head
from dagentd.agx import branches, cleanup, lifecycle, session_document, session_names
from dagentd.agx.session_document import Claude
from dagentd.agx.session_files import AgxSessions
from dagentd.agx.values import Raw, changed, section_of
from dagentd.errors import Conflict, CorruptFile, NotAllowed, NotFound


def current(sessions: AgxSessions) -> str:
    found = sessions.current()
    if found is None:
        hint = "Name one, or make one with `dagentd agx new`."
        raise NotFound("there is no current AGX session", path=sessions.folder.current_file, hint=hint)
    return found


def new(sessions: AgxSessions, name: str | None, description: str, tags: Sequence[str], now: datetime) -> Raw:
    """A session under a name, or that of the branch that is checked out; it is the current one from then on."""
    root, where = sessions.folder.root, head(sessions.folder.root)
    if name is None and where.branch is None:
        hint = "Give the session a name: dagentd agx new NAME"
        raise NotAllowed("HEAD is detached: there is no branch to make a session for", path=root, hint=hint)
    variant = name or str(where.branch)
    session_id = session_names.checked(name) if name else sessions.of_branch(variant)
    if os.path.lexists(sessions.folder.session_file(session_id)):
        hint = f"dagentd agx switch {session_id}"
        raise Conflict("is there already", path=sessions.folder.session_file(session_id), hint=hint)
    raw = session_document.new(session_id, root, sessions.config, variant, branches.state(sessions, where), now)
    raw = session_document.entered(
        changed(raw, "metadata", description=description, tags=list(tags)), "initial_switch", now
    )
    with sessions.writing() as writing:
        raw = writing.create(raw)
        if where.branch is not None and sessions.last_branch() is None:
            writing.set_branch(where.branch)
        branches.make_current(sessions, writing, session_id, "switched", now)
    keep_one_default(sessions, now)
    return raw


def is_due(sessions: AgxSessions, session_id: str) -> bool:
    """Whether it is one of the project's variants that nobody has used yet."""
    wanted = session_id in sessions.config.variants and sessions.config.auto_create
    return wanted and not os.path.lexists(sessions.folder.session_file(session_id))


def switch(sessions: AgxSessions, session_id: str, now: datetime) -> Raw:
    if is_due(sessions, session_id):
        return new(sessions, session_id, "", (), now)
    if lifecycle.state_of(sessions.load(session_id)) == "archived":
        hint = f"dagentd agx restore {session_id}"
        raise Conflict("is archived", path=sessions.folder.session_file(session_id), hint=hint)
    with sessions.writing() as writing:
        raw = writing.update(session_id, lambda raw: session_document.entered(raw, "switched", now), now)
        branches.make_current(sessions, writing, session_id, "switched", now)
        return raw


def complete(sessions: AgxSessions, session_id: str, now: datetime) -> Raw:
    """End a session because what it was for is done; to switch to it goes on with it."""
    return _end(sessions, session_id, "completed", "completed_by_user", now)


def archive(sessions: AgxSessions, session_id: str, now: datetime) -> Raw:
    return _end(sessions, session_id, "archived", "archived_by_user", now)


def _end(sessions: AgxSessions, session_id: str, state: str, reason: str, now: datetime) -> Raw:
    with sessions.writing() as writing:
        raw = writing.update(session_id, lambda raw: session_document.left(raw, state, reason, now), now, backup=True)
        if sessions.current() == session_id:
            writing.set_current(None)
        return raw


def keep_one_default(sessions: AgxSessions, now: datetime) -> None:
    """That of the variant which is configured, else the first that says it is."""
    found, wanted = sessions.all()[0], sessions.config.default_variant
    default = session_document.default_of(found, wanted)
    chosen = default["sessionId"] if default else None
    due = [str(raw["sessionId"]) for raw in found if session_document.is_default(raw) != (raw["sessionId"] == chosen)]

    def change(raw: Raw) -> Raw:
        return changed(raw, "metadata", isDefault=raw["sessionId"] == chosen)

    if due:
        with sessions.writing() as writing:
            for session_id in due:
                writing.update(session_id, change, now)


def restore(sessions: AgxSessions, session_id: str, now: datetime) -> Raw:
    """Out of the archive, out of the trash, or from a backup where its file makes no sense or is gone."""
    with sessions.writing() as writing:
        try:
            sessions.load(session_id)
        except NotFound:
            if not writing.bring_back(session_id) and not writing.mend(session_id):
                raise
        except CorruptFile:
            if not writing.mend(session_id):
                raise
        raw = sessions.load(session_id)
        state = lifecycle.state_of(raw)
        in_use = section_of(raw, "tmux").get("isActive") or sessions.current() == session_id
        if state not in ("active", "archived") or (state == "active" and in_use):
            return raw
        return writing.update(session_id, lambda raw: cleanup.restored(raw, now), now, backup=True)


def claude(sessions: AgxSessions, session_id: str, found: Claude, now: datetime) -> Raw:
    with sessions.writing() as writing:
        return writing.update(
            session_id,
            lambda raw: session_document.accessed(session_document.with_claude(raw, found, sessions.config), now),
            now,
        )
