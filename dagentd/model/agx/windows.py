"""The windows that a tmux session is opened with, and what the user must have seen before."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from pathlib import Path

from dagentd.errors import NotAllowed
from dagentd.model import jsontext
from dagentd.model.agx import Raw, section
from dagentd.model.agx.config import Config, Window

_MOST = 50  # windows
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")  # and what no encoding can write


def wanted(raw: Raw, config: Config, root: Path) -> list[Window]:
    """The project's, else those of the session itself, else the user's usual ones; each with its whole path."""
    found = list(config.windows) or _of_session(raw) or [Window(name, ".") for name in config.window_names]
    return [_placed(each, root) for each in found[:_MOST]] or [Window("main", str(root))]


def from_project(raw: Raw, config: Config) -> bool:
    """Whether they come from files in the project, which others may have written."""
    return bool(config.windows or _of_session(raw))


def _of_session(raw: Raw) -> list[Window]:
    held = section(raw, "tmux", "config")
    first, more = held.get("defaultWindow"), held.get("additionalWindows")
    every = [first, *(more if isinstance(more, list) else [])]
    found = [each for each in every if isinstance(each, dict)]
    return [Window(each.get("name") or f"window{at}", each.get("path") or ".", each.get("command"))
            for at, each in enumerate(found, 1)]  # fmt: skip


def _placed(window: Window, root: Path) -> Window:
    if any(_CONTROL.search(text or "") for text in (window.name, window.path, window.command)):
        hint = "Write it without line ends and control characters, in .agx/config.json."
        raise NotAllowed(f"window {window.name!a} has control characters in what is said of it", path=root, hint=hint)
    path = os.path.realpath(root / window.path)
    if not Path(path).is_relative_to(os.path.realpath(root)):
        hint = "Give the window a path inside of the project, in .agx/config.json."
        raise NotAllowed(f"window {window.name!a} would open in {path}, outside of the project", path=root, hint=hint)
    return Window(window.name, path, window.command or None)


def digest(root: Path, windows: Sequence[Window]) -> str:
    """By which commands that were confirmed are known again: any change of them is another content."""
    told = [[each.name, each.path, each.command] for each in windows if each.command]
    return hashlib.sha256(jsontext.encode([str(root), told])).hexdigest()
