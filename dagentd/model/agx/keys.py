"""The keys of both configuration files: what each may be, what it is where nobody says, whether it has an effect."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from dagentd.model.agx import Raw, units
from dagentd.model.agx.versions import CURRENT


@dataclass(frozen=True)
class Key:
    allowed: str  # in words
    holds: Callable[[Any], bool]
    default: Any = None
    only_kept: bool = False  # AGX describes it, and nothing here needs it


Keys = Mapping[str, Key]


def _text(default: str | None = None, *, only_kept: bool = False) -> Key:
    return Key("a text", lambda value: isinstance(value, str), default, only_kept)


def _switch(default: bool | None = None, *, only_kept: bool = False) -> Key:
    return Key("true or false", lambda value: isinstance(value, bool), default, only_kept)


def _number(least: int, most: int, default: int | None = None, *, only_kept: bool = False) -> Key:
    def holds(value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most

    return Key(f"a whole number from {least} to {most}", holds, default, only_kept)


def _time(default: str, *, only_kept: bool = False) -> Key:
    return Key("a time, as 30s, 5m, 1h 30m or 7d", lambda value: bool(units.seconds(value)), default, only_kept)


def _texts(default: list[str] | None = None) -> Key:
    def holds(value: Any) -> bool:
        return isinstance(value, list) and all(isinstance(each, str) for each in value)

    return Key('a list of texts, as ["a", "b"]', holds, default)


def _windows() -> Key:
    def is_window(value: Any) -> bool:
        said = [value.get(name) for name in ("name", "path", "command")] if isinstance(value, dict) else [0]
        return all(each is None or isinstance(each, str) for each in said)

    def holds(value: Any) -> bool:
        return isinstance(value, list) and all(map(is_window, value))

    return Key('a list of {"name", "path", "command"}', holds)


GLOBAL: Keys = {
    "default.sessionVariant": _text("main"),
    "default.autoCreateSessions": _switch(True),
    "default.projectDetection": _text("auto", only_kept=True),
    "tmux.defaultWindowCount": _number(1, 50, 2),
    "tmux.windowNames": _texts(["main", "test"]),
    "tmux.startupCommand": _text(),
    "tmux.sessionPrefix": _text("agx"),
    "tmux.attachTimeout": _time("10s"),
    "claude.defaultModel": _text("claude-3-sonnet"),
    "claude.resumeTimeout": _time("30s", only_kept=True),
    "claude.defaultArgs": _texts([]),
    "claude.retryAttempts": _number(0, 100, 3, only_kept=True),
    "claude.contextPreservation": _switch(True, only_kept=True),
    "session.autoBranchSessions": _switch(True),
    "session.cleanupInactiveDays": _number(1, 36_500, 30),
    "session.backupCount": _number(1, 1_000, 5),
    "session.autoArchive": _switch(True),
    "session.enableStatistics": _switch(True),
    "storage.indexSyncInterval": _time("5m"),
    "storage.enableGlobalIndex": _switch(True),
    "storage.compactThreshold": Key("a size, as 100MB", lambda value: bool(units.size_in_bytes(value)), "100MB"),
    "storage.logRetentionDays": _number(1, 36_500, 7),
    "ui.colorOutput": _switch(True),
    "ui.verboseLogging": _switch(False, only_kept=True),
    "ui.confirmDestructive": _switch(True),
    "ui.defaultEditor": _text("nano", only_kept=True),
}

PROJECT: Keys = {
    "project.name": _text(),
    "project.defaultSessionVariant": _text(),
    "project.workingDirectory": _text(),
    "tmux.windowCount": _number(1, 50),
    "tmux.windows": _windows(),
    "claude.model": _text(),
    "claude.contextFiles": _texts(),
    "session.variants": _texts(),
    "session.branchSessions": _switch(),
    "session.autoCleanup": _switch(),
}


def defaults() -> Raw:
    """The global file as AGX itself would write it."""
    made: Raw = {"version": CURRENT}
    for key, each in GLOBAL.items():
        section, name = key.split(".")
        made.setdefault(section, {})[name] = each.default
    return made


def mistake(keys: Keys, key: str, value: Any) -> str | None:
    """What is wrong with a value; null is none, and so is what we do not know."""
    if key not in keys or value is None or keys[key].holds(value):
        return None
    shown = json.dumps(value, default=str)
    return f"{key} is {shown if len(shown) <= 60 else f'{shown[:57]}...'}; it must be {keys[key].allowed}"


def believed(keys: Keys, raw: Raw) -> tuple[Raw, list[str]]:
    """What a file says but for what makes no sense, and that in words."""
    found: Raw = {}
    wrong = []
    for section in dict.fromkeys(key.split(".")[0] for key in keys):
        held = raw.get(section)
        if held is not None and not isinstance(held, dict):
            wrong.append(f"{section} is no object")
            continue
        told = {name: mistake(keys, f"{section}.{name}", value) for name, value in (held or {}).items()}
        wrong += [each for each in told.values() if each]
        found[section] = {name: value for name, value in (held or {}).items() if not told[name]}
    return found, wrong


def unknown(keys: Keys, key: str) -> str | None:
    """That there is no such key, and the nearest."""
    if key in keys:
        return None
    if key in {**GLOBAL, **PROJECT}:
        return f"{key} is a key of the {'global file' if key in GLOBAL else 'file of a project: add --local'}"
    leaf = key.rpartition(".")[2].lower()
    same = [each for each in keys if each.rpartition(".")[2].lower() == leaf]
    near = same or get_close_matches(key, keys, 1, 0.5)
    return f"there is no key {key!a}" + (f"; did you mean {near[0]}?" if near else "")
