"""`agx.*`: the AGX sessions of the projects that are served. To open one runs commands, so that is not here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dagentd.errors import Conflict, NotFound
from dagentd.rpc import params
from dagentd.rpc.service import Caller, store_at


def sessions(caller: Caller, given: params.AgxSessions) -> dict[str, Any]:
    """AGX sessions as the global index has them: of one project, or of all that are in it."""
    root = None if given.project is None else _root(caller, given.project)
    return {"sessions": caller.service.agx.listed(root, given.state)}


def get(caller: Caller, given: params.OfAgx) -> dict[str, Any]:
    """The document of an AGX session; without `sessionId` of the current one of `project`."""
    return caller.service.agx.get(_place(caller, given), given.session_id)


def new(caller: Caller, given: params.NewAgx) -> dict[str, Any]:
    """Make an AGX session, under a name or for the branch that is checked out, and switch to it."""
    root = _root(caller, given.project)
    return caller.service.agx.new(root, given.name, given.description, given.tags)


def switch(caller: Caller, given: params.OneAgx) -> dict[str, Any]:
    """Make an AGX session the current one of its project."""
    return caller.service.agx.switch(_place(caller, given), given.session_id)


def archive(caller: Caller, given: params.OneAgx) -> dict[str, Any]:
    """Archive an AGX session; it stays where it is, beside a backup."""
    return caller.service.agx.archive(_place(caller, given), given.session_id)


def complete(caller: Caller, given: params.OneAgx) -> dict[str, Any]:
    """Say that what an AGX session was for is done; to switch to it goes on with it."""
    return caller.service.agx.complete(_place(caller, given), given.session_id)


def restore(caller: Caller, given: params.OneAgx) -> dict[str, Any]:
    """Bring an AGX session back: from the archive, from the trash, or from a backup where its file is damaged."""
    return caller.service.agx.restore(_place(caller, given), given.session_id)


def claude(caller: Caller, given: params.AgxClaude) -> dict[str, Any]:
    """Note the Claude session that an AGX session goes on with; without `sessionId` in the current one of `project`."""
    return caller.service.agx.claude(_place(caller, given), given.claude_session_id, given.session_id)


def cleanup(caller: Caller, given: params.AgxCleanup) -> dict[str, Any]:
    """Archive what has not been used for long, remove to the trash what was archived for as long, or what is named;
    with `dryRun` only say so."""
    return caller.service.agx.cleanup_steps(_root(caller, given.project), given.session_ids, given.dry_run)


def index(caller: Caller, given: params.AgxIndex) -> dict[str, Any]:
    """Check the global index now, or make all of it anew; what it says beside its sessions."""
    return caller.service.agx.index(given.rebuild)


def _root(caller: Caller, project: str) -> Path:
    return store_at(caller.service, project).project.root


def _place(caller: Caller, given: params.OfAgx | params.OneAgx) -> Path:
    """The project that is named, else the only one that has the session."""
    if given.project is not None:
        return _root(caller, given.project)
    roots = [store.project.root for store in caller.service.stores()]
    if len(roots) != 1:
        wanted = given.session_id
        roots = [root for root in roots if wanted is not None and caller.service.agx.has(root, wanted)]
    if len(roots) == 1:
        return roots[0]
    if not roots:
        raise NotFound(f"no AGX session {given.session_id!a}", hint="dagentd agx list --all")
    named = ", ".join(map(str, roots))
    raise Conflict(f"{given.session_id} is in several projects: {named}", hint="Name one with `project`.")
