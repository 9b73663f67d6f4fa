"""tmux: what its server says comes into the sessions, and a session is opened in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from dagentd.adapters import tmux
from dagentd.errors import NotAllowed
from dagentd.jobs.agx import branches
from dagentd.model.agx import Raw, changed, naming, section, session, stamp
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
    return session.with_tmux(raw, live, now)


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


def open_session(
    sessions: Sessions, session_id: str, confirm: Confirm, offer: Confirm, now: datetime
) -> tuple[str, bool]:
    """The name of its tmux session, and whether that was made now. Commands that come with the project are run only
    if the user has seen just these and said yes; to go on with its conversation is offered likewise."""
    root, config = sessions.folder.root, sessions.config
    raw, running = sessions.load(session_id), tmux.sessions()
    live, resumed = own(raw, running, root), None
    if live is None:
        windows = planning.wanted(raw, config, root)
        _confirm(raw, sessions, windows, confirm)
        resume = planning.resuming(windows, raw, config)
        if resume is not None and _is_confirmed(root, [resume[1]], offer):
            windows[resume[0]], resumed = resume[1], resume[1].command
        name = _free(raw, sessions, running, session_id)
        tmux.create(name, windows, config.startup_command, float(config.attach_timeout))
    else:
        name = live.name
    _note(sessions, session_id, name, resumed, now)
    return name, live is None


def closed(sessions: Sessions, name: str, now: datetime) -> None:
    """Somebody was in this tmux session until now; it may run on or have ended."""
    running = tmux.sessions()
    held = [raw["sessionId"] for raw in sessions.all()[0] if section(raw, "tmux").get("sessionName") == name]
    with sessions.writing() as writing:
        for session_id in held:
            writing.update(session_id, lambda raw: _with(sessions, session.accessed(raw, now), running, now), now)


def _note(sessions: Sessions, session_id: str, name: str, resumed: str | None, now: datetime) -> None:
    live = tmux.sessions().get(name)

    def change(raw: Raw) -> Raw:
        raw = changed(raw, "tmux", sessionName=name)
        if resumed:
            raw = changed(raw, "claude", "resumeInfo", resumeCommand=resumed, lastResumeAttempt=stamp(now))
        return session.entered(session.with_tmux(raw, live, now), "attachment", now)

    with sessions.writing() as writing:
        writing.update(session_id, change, now)
        branches.make_current(sessions, writing, session_id, "switched", now)


def _free(raw: Raw, sessions: Sessions, running: Mapping[str, Tmux], session_id: str) -> str:
    held = section(raw, "tmux").get("sessionName")
    project = section(raw, "project").get("name") or sessions.folder.root.name
    usual = naming.tmux_session(sessions.config.prefix, str(project), session_id)
    name = held if isinstance(held, str) and naming.is_tmux_name(held) else usual
    return naming.told_apart(name, sessions.folder.root) if name in running else name


def _confirm(raw: Raw, sessions: Sessions, windows: Sequence[Window], confirm: Confirm) -> None:
    if not planning.from_project(raw, sessions.config) or _is_confirmed(sessions.folder.root, windows, confirm):
        return
    hint = "Look at them in .agx/config.json, and run `dagentd agx open` again."
    raise NotAllowed("the commands of its windows were not confirmed", path=sessions.folder.config_file, hint=hint)


def _is_confirmed(root: Path, windows: Sequence[Window], confirm: Confirm) -> bool:
    """Whether the user has said yes to just these commands, now or before."""
    commands, seen = [each for each in windows if each.command], planning.digest(root, windows)
    if not commands or confirmed.is_confirmed(root, seen):
        return True
    if not confirm(commands):
        return False
    confirmed.confirm(root, seen)
    return True
