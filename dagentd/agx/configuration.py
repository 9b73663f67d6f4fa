"""The keys of both configuration files, and what these say together over the defaults that AGX has."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from dagentd.adapters.tmux import Window
from dagentd.agx import values as units
from dagentd.agx.schema import CURRENT
from dagentd.agx.values import Raw, section_of

# What the two configuration files say together, over the defaults that AGX has.


@dataclass(frozen=True)
class Config:
    default_variant: str = "main"
    auto_create: bool = True
    branch_sessions: bool = True
    project_name: str | None = None
    working_directory: str | None = None
    variants: tuple[str, ...] = ()
    prefix: str = "agx"
    windows: tuple[Window, ...] = ()  # that the project asks for
    window_count: int | None = None  # likewise
    window_names: tuple[str, ...] = ("main", "test")  # where it asks for none
    startup_command: str | None = None
    attach_timeout: int = 10  # seconds
    claude_model: str | None = None
    claude_args: tuple[str, ...] = ()
    context_files: tuple[str, ...] = ()
    auto_archive: bool = True
    auto_cleanup: bool = True
    cleanup_days: int = 30
    backup_count: int = 5
    statistics: bool = True
    index_interval: int = 300  # seconds
    global_index: bool = True
    compact_threshold: int = 100_000_000  # bytes
    log_days: int = 7
    colour: bool = True
    confirm_destructive: bool = True
    is_certain: bool = True  # False: a file could not be read, so this may not be what the user wants


def effective(home: Raw, project: Raw, *, cleanup_days: int, index_interval: int, is_certain: bool = True) -> Config:
    """A project overrides the user's file, and that the settings of dagentd itself. Both are as `keys.believed` has
    them."""
    default, tmux, session = section_of(home, "default"), section_of(home, "tmux"), section_of(home, "session")
    storage, ui, claude = section_of(home, "storage"), section_of(home, "ui"), section_of(home, "claude")
    own, wanted, windows = section_of(project, "project"), section_of(project, "session"), section_of(project, "tmux")
    names = tuple(tmux.get("windowNames") or ("main", "test"))
    count = _first(tmux.get("defaultWindowCount"), len(names))
    return Config(
        default_variant=_first(own.get("defaultSessionVariant"), default.get("sessionVariant"), "main"),
        auto_create=_first(default.get("autoCreateSessions"), True),
        branch_sessions=_first(wanted.get("branchSessions"), session.get("autoBranchSessions"), True),
        project_name=own.get("name"),
        working_directory=own.get("workingDirectory"),
        variants=tuple(wanted.get("variants") or ()),
        prefix=_first(tmux.get("sessionPrefix"), "agx"),
        windows=tuple(Window(each.get("name") or f"window{number}", each.get("path") or None, each.get("command"))
                      for number, each in enumerate(windows.get("windows") or (), 1)),
        window_count=windows.get("windowCount"),
        window_names=(*names, *(f"window{number}" for number in range(len(names) + 1, count + 1)))[:count],
        startup_command=tmux.get("startupCommand"),
        attach_timeout=min(_first(units.duration_seconds(tmux.get("attachTimeout")), 10), 600),
        claude_model=_first(section_of(project, "claude").get("model"), claude.get("defaultModel")),
        claude_args=tuple(claude.get("defaultArgs") or ()),
        context_files=tuple(section_of(project, "claude").get("contextFiles") or ()),
        auto_archive=_first(session.get("autoArchive"), True),
        auto_cleanup=_first(wanted.get("autoCleanup"), True),
        cleanup_days=_first(session.get("cleanupInactiveDays"), cleanup_days),
        backup_count=_first(session.get("backupCount"), 5),
        statistics=_first(session.get("enableStatistics"), True),
        index_interval=min(_first(units.duration_seconds(storage.get("indexSyncInterval")), index_interval), 86_400),
        global_index=_first(storage.get("enableGlobalIndex"), True),
        compact_threshold=_first(units.size_in_bytes(storage.get("compactThreshold")), 100_000_000),
        log_days=_first(storage.get("logRetentionDays"), 7),
        colour=_first(ui.get("colorOutput"), True),
        confirm_destructive=_first(ui.get("confirmDestructive"), True),
        is_certain=is_certain,
    )  # fmt: skip


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


# The keys of both configuration files: what each may be, what it is where nobody says, whether it has an effect.


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
    return Key(
        "a time, as 30s, 5m, 1h 30m or 7d", lambda value: bool(units.duration_seconds(value)), default, only_kept
    )


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
    "claude.defaultModel": _text("sonnet"),
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


def default_values() -> Raw:
    """The global file as AGX itself would write it."""
    made: Raw = {"version": CURRENT}
    for key, each in GLOBAL.items():
        section, name = key.split(".")
        made.setdefault(section, {})[name] = each.default
    return made


def key_mistake(keys: Keys, key: str, value: Any) -> str | None:
    """Say what is wrong with a value. None if nothing is: null is allowed, and so is a key that we do not know."""
    if key not in keys or value is None or keys[key].holds(value):
        return None
    shown = json.dumps(value, default=str)
    return f"{key} is {shown if len(shown) <= 60 else f'{shown[:57]}...'}; it must be {keys[key].allowed}"


def believed(keys: Keys, raw: Raw) -> tuple[Raw, list[str]]:
    """The values of a file but for those that make no sense, and a sentence on each of these."""
    found: Raw = {}
    wrong = []
    for section in dict.fromkeys(key.split(".")[0] for key in keys):
        held = raw.get(section)
        if held is not None and not isinstance(held, dict):
            wrong.append(f"{section} is no object")
            continue
        told = {name: key_mistake(keys, f"{section}.{name}", value) for name, value in (held or {}).items()}
        wrong += [each for each in told.values() if each]
        found[section] = {name: value for name, value in (held or {}).items() if not told[name]}
    return found, wrong


def unknown_keys(keys: Keys, key: str) -> str | None:
    """That there is no such key, and the nearest."""
    if key in keys:
        return None
    if key in {**GLOBAL, **PROJECT}:
        return f"{key} is a key of the {'global file' if key in GLOBAL else 'file of a project: add --local'}"
    leaf = key.rpartition(".")[2].lower()
    same = [each for each in keys if each.rpartition(".")[2].lower() == leaf]
    near = same or get_close_matches(key, keys, 1, 0.5)
    return f"there is no key {key!a}" + (f"; did you mean {near[0]}?" if near else "")
