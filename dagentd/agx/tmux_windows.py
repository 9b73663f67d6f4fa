"""tmux: what its server says comes into the sessions, and a session is opened in it once the user has seen its
commands."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from dagentd import paths
from dagentd.adapters import tmux
from dagentd.adapters.files import disk
from dagentd.adapters.tmux import TmuxSession, Window
from dagentd.agx import branches, session_document, session_names
from dagentd.agx.configuration import Config
from dagentd.agx.session_files import AgxSessions
from dagentd.agx.values import Raw, changed, section_of, stamp
from dagentd.errors import CorruptFile, NotAllowed
from dagentd.model import ids, jsontext
from dagentd.store.documents.document_edits import write_document
from dagentd.store.layout.layout import read_object

# The windows that a tmux session is opened with, and what the user must have seen before.

_MOST = 50  # windows
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")  # and what no encoding can write


def wanted_windows(raw: Raw, config: Config, root: Path) -> list[Window]:
    """The project's, else those of the session itself, else the user's usual ones; as many as the project wants, and
    each with its whole path."""
    found = list(config.windows) or _of_session(raw) or [Window(name) for name in config.window_names]
    count = min(config.window_count or len(found), _MOST)
    found += [Window(f"window{number}") for number in range(len(found) + 1, count + 1)]
    working = root / (config.working_directory or section_of(raw, "project").get("workingDirectory") or ".")
    return [_placed(each, root, working if working.is_dir() else root) for each in found[:count]]


def from_project(raw: Raw, config: Config) -> bool:
    """Whether they come from files in the project, which others may have written."""
    return bool(config.windows or _of_session(raw))


def _of_session(raw: Raw) -> list[Window]:
    """One that opens in the working directory goes with it when that is another."""
    held, working = section_of(raw, "tmux", "config"), section_of(raw, "project").get("workingDirectory")
    first, more = held.get("defaultWindow"), held.get("additionalWindows")
    every = [first, *(more if isinstance(more, list) else [])]
    found = [each for each in every if isinstance(each, dict)]
    paths = [None if each.get("path") == working else each.get("path") for each in found]
    return [
        Window(each.get("name") or f"window{at}", path, each.get("command"))
        for at, (each, path) in enumerate(zip(found, paths, strict=True), 1)
    ]


def _placed(window: Window, root: Path, working: Path) -> Window:
    if any(_CONTROL.search(text or "") for text in (window.name, window.path, window.command)):
        hint = "Write it without line ends and control characters, in .agx/config.json."
        raise NotAllowed(f"window {window.name!a} has control characters in what is said of it", path=root, hint=hint)
    path = os.path.realpath(root / window.path if window.path else working)
    if not Path(path).is_relative_to(os.path.realpath(root)):
        hint = "Give the window a path inside of the project, in .agx/config.json."
        raise NotAllowed(f"window {window.name!a} would open in {path}, outside of the project", path=root, hint=hint)
    return Window(window.name, path, window.command or None)


def resuming(windows: Sequence[Window], raw: Raw, config: Config) -> tuple[int, Window] | None:
    """The first window that runs nothing, with the command that goes on with the session's conversation in it."""
    claude_id, resume = section_of(raw, "claude").get("sessionId"), section_of(raw, "claude", "resumeInfo")
    free = next((at for at, each in enumerate(windows) if not each.command), None)
    if free is None or resume.get("canResume") is not True or not ids.is_safe(claude_id):
        return None
    command = session_document.resume_command(str(claude_id), config)
    return None if _CONTROL.search(command) else (free, replace(windows[free], command=command))


def windows_digest(root: Path, windows: Sequence[Window]) -> str:
    """By which commands that were confirmed are known again: any change of them is another content."""
    told = [[each.name, each.path, each.command] for each in windows if each.command]
    return hashlib.sha256(jsontext.encode([str(root), told])).hexdigest()


# Which commands of projects the user has seen and allowed, by their content: in the state folder.

_MOST_CONFIRMED = 20  # contents of one project that are remembered


def commands_are_confirmed(root: Path, digest: str) -> bool:
    return digest in _held().get(str(root), [])


def confirm_commands(root: Path, digest: str) -> None:
    file = paths.agx_confirmed_file()
    with disk.explained(file):
        disk.make_folders(file.parent)
    held = _held()
    known = [each for each in held.get(str(root), []) if each != digest]
    write_document(file, {"projects": {**held, str(root): [*known, digest][-_MOST_CONFIRMED:]}})


def _held() -> dict[str, list[str]]:
    """The digests of commands that were confirmed, by project; a file that makes no sense confirms nothing."""
    try:
        found = read_object(paths.agx_confirmed_file()).get("projects")
    except (FileNotFoundError, CorruptFile):
        return {}
    if not isinstance(found, dict):
        return {}
    return {root: [str(each) for each in some] for root, some in found.items() if isinstance(some, list)}


Confirm = Callable[[Sequence[Window]], bool]


def refresh(sessions: AgxSessions, running: Mapping[str, TmuxSession], now: datetime) -> bool:
    """Whether anything was written."""
    found, _ = sessions.all()
    due = [str(raw["sessionId"]) for raw in found if _with(sessions, raw, running, now) != raw]
    if due:
        with sessions.writing() as writing:
            for session_id in due:
                writing.update(session_id, lambda raw: _with(sessions, raw, running, now), now)
    return bool(due)


def _with(sessions: AgxSessions, raw: Raw, running: Mapping[str, TmuxSession], now: datetime) -> Raw:
    live = own(raw, running, sessions.folder.root)
    return session_document.with_tmux(raw, live, now)


def own(raw: Raw, running: Mapping[str, TmuxSession], root: Path) -> TmuxSession | None:
    """The tmux session that is this one's: another project of the same name has one of the same name too."""
    live = running.get(str(section_of(raw, "tmux").get("sessionName")))
    return live if live is not None and is_in(live, root) else None


def is_in(live: TmuxSession, root: Path) -> bool:
    return Path(os.path.realpath(live.path or "/")).is_relative_to(os.path.realpath(root))


def concerned(roots: Iterable[Path], running: Mapping[str, TmuxSession], entries: Iterable[Raw]) -> set[Path]:
    """The projects whose sessions may have to be changed: nothing is read of the others."""
    believed = {each.get("projectPath") for each in entries if section_of(each, "runtime").get("tmuxActive") is True}
    return {root for root in roots if str(root) in believed or any(is_in(each, root) for each in running.values())}


def open_session(
    sessions: AgxSessions, session_id: str, confirm: Confirm, offer: Confirm, now: datetime
) -> tuple[str, bool]:
    """The name of its tmux session, and whether that was made now. Commands that come with the project are run only
    if the user has seen just these and said yes; to go on with its conversation is offered likewise."""
    root, config = sessions.folder.root, sessions.config
    raw, running = sessions.load(session_id), tmux.sessions()
    live, resumed = own(raw, running, root), None
    if live is None:
        windows = wanted_windows(raw, config, root)
        if from_project(raw, config) and not _is_confirmed(root, windows, confirm):
            told = "the commands of its windows were not confirmed"
            hint = "Look at them in .agx/config.json, and run `dagentd agx open` again."
            raise NotAllowed(told, path=sessions.folder.config_file, hint=hint)
        resume = resuming(windows, raw, config)
        if resume is not None and _is_confirmed(root, [resume[1]], offer):
            windows[resume[0]], resumed = resume[1], resume[1].command
        name = _free(raw, sessions, running, session_id)
        tmux.create(name, windows, config.startup_command, float(config.attach_timeout))
    else:
        name = live.name
    _note(sessions, session_id, name, resumed, now)
    return name, live is None


def closed(sessions: AgxSessions, name: str, now: datetime) -> None:
    """Somebody was in this tmux session until now; it may run on or have ended."""
    running = tmux.sessions()
    held = [raw["sessionId"] for raw in sessions.all()[0] if section_of(raw, "tmux").get("sessionName") == name]
    with sessions.writing() as writing:
        for session_id in held:
            writing.update(
                session_id, lambda raw: _with(sessions, session_document.accessed(raw, now), running, now), now
            )


def _note(sessions: AgxSessions, session_id: str, name: str, resumed: str | None, now: datetime) -> None:
    live = tmux.sessions().get(name)

    def change(raw: Raw) -> Raw:
        raw = changed(raw, "tmux", sessionName=name)
        if resumed:
            raw = changed(raw, "claude", "resumeInfo", resumeCommand=resumed, lastResumeAttempt=stamp(now))
        return session_document.entered(session_document.with_tmux(raw, live, now), "attachment", now)

    with sessions.writing() as writing:
        writing.update(session_id, change, now)
        branches.make_current(sessions, writing, session_id, "switched", now)


def _free(raw: Raw, sessions: AgxSessions, running: Mapping[str, TmuxSession], session_id: str) -> str:
    held = section_of(raw, "tmux").get("sessionName")
    project = section_of(raw, "project").get("name") or sessions.folder.root.name
    usual = session_names.tmux_session(sessions.config.prefix, str(project), session_id)
    name = held if isinstance(held, str) and session_names.is_tmux_name(held) else usual
    return session_names.told_apart(name, sessions.folder.root) if name in running else name


def _is_confirmed(root: Path, windows: Sequence[Window], confirm: Confirm) -> bool:
    """Whether the user has said yes to just these commands, now or before."""
    commands, seen = [each for each in windows if each.command], windows_digest(root, windows)
    if not commands or commands_are_confirmed(root, seen):
        return True
    if not confirm(commands):
        return False
    confirm_commands(root, seen)
    return True
