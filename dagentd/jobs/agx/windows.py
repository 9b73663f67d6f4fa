"""tmux: what its server says comes into the sessions, and a session is opened in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from dagentd.adapters import tmux
from dagentd.errors import NotAllowed
from dagentd.model.agx import Raw, changed, naming, section, session
from dagentd.model.agx import windows as planning
from dagentd.model.agx.config import Window
from dagentd.model.agx.session import Tmux
from dagentd.store.agx import confirmed
from dagentd.store.agx.sessions import Sessions

Confirm = Callable[[Sequence[Window]], bool]


def refresh(sessions: Sessions, running: Mapping[str, Tmux], now: datetime) -> bool:
    """Whether anything was written."""
    found, _ = sessions.all()
    due = [str(raw["sessionId"]) for raw in found if _with(sessions, raw, running, now) != raw]
    if due:
        with sessions.writing() as writing:
            for session_id in due:
                writing.update(session_id, lambda raw: _with(sessions, raw, running, now), now)
    return bool(due)


def _with(sessions: Sessions, raw: Raw, running: Mapping[str, Tmux], now: datetime) -> Raw:
    live = own(raw, running, sessions.folder.root)
    return session.with_tmux(raw, live, now, count=sessions.config.statistics)


def own(raw: Raw, running: Mapping[str, Tmux], root: Path) -> Tmux | None:
    """The tmux session that is this one's: another project of the same name has one of the same name too."""
    live = running.get(str(section(raw, "tmux").get("sessionName")))
    return live if live is not None and is_in(live, root) else None


def is_in(live: Tmux, root: Path) -> bool:
    return Path(os.path.realpath(live.path or "/")).is_relative_to(os.path.realpath(root))


def concerned(roots: Iterable[Path], running: Mapping[str, Tmux], entries: Iterable[Raw]) -> set[Path]:
    """The projects whose sessions may have to be changed: nothing is read of the others."""
    believed = {each.get("projectPath") for each in entries if section(each, "runtime").get("tmuxActive") is True}
    return {root for root in roots if str(root) in believed or any(is_in(each, root) for each in running.values())}


def open_session(sessions: Sessions, session_id: str, confirm: Confirm, now: datetime) -> tuple[str, bool]:
    """The name of its tmux session, and whether that was made now. Commands that come with the project are run only
    if the user has seen just these and said yes."""
    root = sessions.folder.root
    raw, running = sessions.load(session_id), tmux.sessions()
    live = own(raw, running, root)
    if live is None:
        windows = planning.wanted(raw, sessions.config, root)
        _confirm(raw, sessions, windows, confirm)
        name = _free(raw, sessions, running, session_id)
        tmux.create(name, windows, sessions.config.startup_command, float(sessions.config.attach_timeout))
    else:
        name = live.name
    _note(sessions, session_id, name, now)
    return name, live is None


def _note(sessions: Sessions, session_id: str, name: str, now: datetime) -> None:
    from dagentd.jobs.agx import branches

    live, count = tmux.sessions().get(name), sessions.config.statistics

    def change(raw: Raw) -> Raw:
        raw = changed(raw, "tmux", sessionName=name)
        return session.entered(session.with_tmux(raw, live, now, count=count), "attachment", now, count=count)

    with sessions.writing() as writing:
        writing.update(session_id, change, now)
        branches.leave(sessions, writing, session_id, "switched", now)
        writing.set_current(session_id)


def _free(raw: Raw, sessions: Sessions, running: Mapping[str, Tmux], session_id: str) -> str:
    held = section(raw, "tmux").get("sessionName")
    project = section(raw, "project").get("name") or sessions.folder.root.name
    usual = naming.tmux_session(sessions.config.prefix, str(project), session_id)
    name = held if isinstance(held, str) and naming.is_tmux_name(held) else usual
    return naming.told_apart(name, sessions.folder.root) if name in running else name


def _confirm(raw: Raw, sessions: Sessions, windows: Sequence[Window], confirm: Confirm) -> None:
    root = sessions.folder.root
    commands = [each for each in windows if each.command]
    if not commands or not planning.from_project(raw, sessions.config):
        return
    seen = planning.digest(root, windows)
    if confirmed.is_confirmed(root, seen):
        return
    if not confirm(commands):
        hint = "Look at them in .agx/config.json, and run `dagentd agx open` again."
        raise NotAllowed("the commands of its windows were not confirmed", path=sessions.folder.config_file, hint=hint)
    confirmed.confirm(root, seen)
