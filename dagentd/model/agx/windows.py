"""The windows that a tmux session is opened with, and what the user must have seen before."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dagentd.errors import NotAllowed
from dagentd.model import ids, jsontext
from dagentd.model.agx import Raw, section, session
from dagentd.model.agx.config import Config, Window

_MOST = 50  # windows
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")  # and what no encoding can write


def wanted(raw: Raw, config: Config, root: Path) -> list[Window]:
    """The project's, else those of the session itself, else the user's usual ones; as many as the project wants, and
    each with its whole path."""
    found = list(config.windows) or _of_session(raw) or [Window(name) for name in config.window_names]
    count = min(config.window_count or len(found), _MOST)
    found += [Window(f"window{number}") for number in range(len(found) + 1, count + 1)]
    working = _working(raw, config, root)
    return [_placed(each, root, working) for each in found[:count]]


def _working(raw: Raw, config: Config, root: Path) -> Path:
    """Where a window opens that has no path of its own; one that is not there is none."""
    held = root / (config.working_directory or section(raw, "project").get("workingDirectory") or ".")
    return held if held.is_dir() else root


def from_project(raw: Raw, config: Config) -> bool:
    """Whether they come from files in the project, which others may have written."""
    return bool(config.windows or _of_session(raw))


def _of_session(raw: Raw) -> list[Window]:
    """One that opens in the working directory goes with it when that is another."""
    held, working = section(raw, "tmux", "config"), section(raw, "project").get("workingDirectory")
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
    claude_id, resume = section(raw, "claude").get("sessionId"), section(raw, "claude", "resumeInfo")
    free = next((at for at, each in enumerate(windows) if not each.command), None)
    if free is None or resume.get("canResume") is not True or not ids.is_safe(claude_id):
        return None
    command = session.resume_command(str(claude_id), config)
    return None if _CONTROL.search(command) else (free, replace(windows[free], command=command))


def digest(root: Path, windows: Sequence[Window]) -> str:
    """By which commands that were confirmed are known again: any change of them is another content."""
    told = [[each.name, each.path, each.command] for each in windows if each.command]
    return hashlib.sha256(jsontext.encode([str(root), told])).hexdigest()
