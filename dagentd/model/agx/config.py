"""What the two configuration files say together, over the defaults that AGX has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dagentd.model.agx import Raw, section, units
from dagentd.model.agx.versions import CURRENT

DEFAULT_GLOBAL: Raw = {
    "version": CURRENT,
    "default": {"sessionVariant": "main", "autoCreateSessions": True, "projectDetection": "auto"},
    "tmux": {
        "defaultWindowCount": 2,
        "windowNames": ["main", "test"],
        "startupCommand": None,
        "sessionPrefix": "agx",
        "attachTimeout": "10s",
    },
    "claude": {
        "defaultModel": "claude-3-sonnet",
        "resumeTimeout": "30s",
        "defaultArgs": [],
        "retryAttempts": 3,
        "contextPreservation": True,
    },
    "session": {
        "autoBranchSessions": True,
        "cleanupInactiveDays": 30,
        "backupCount": 5,
        "autoArchive": True,
        "enableStatistics": True,
    },
    "storage": {
        "indexSyncInterval": "5m",
        "enableGlobalIndex": True,
        "compactThreshold": "100MB",
        "logRetentionDays": 7,
    },
    "ui": {"colorOutput": True, "verboseLogging": False, "confirmDestructive": True, "defaultEditor": "nano"},
}


@dataclass(frozen=True)
class Window:
    name: str
    path: str
    command: str | None = None


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
    window_names: tuple[str, ...] = ("main", "test")  # where it asks for none
    startup_command: str | None = None
    attach_timeout: int = 10  # seconds
    auto_archive: bool = True
    auto_cleanup: bool = True
    cleanup_days: int = 30
    backup_count: int = 5
    statistics: bool = True
    index_interval: int = 300  # seconds
    global_index: bool = True
    compact_threshold: int = 100_000_000  # bytes
    confirm_destructive: bool = True


def effective(home: Raw, project: Raw, *, cleanup_days: int, index_interval: int) -> Config:
    """A project overrides the user's file, and that the settings of dagentd itself."""
    default, tmux, session = section(home, "default"), section(home, "tmux"), section(home, "session")
    storage, ui = section(home, "storage"), section(home, "ui")
    own, wanted = section(project, "project"), section(project, "session")
    names = _texts(tmux.get("windowNames")) or ("main", "test")
    return Config(
        default_variant=_first(own.get("defaultSessionVariant"), default.get("sessionVariant"), "main"),
        auto_create=_first(default.get("autoCreateSessions"), True),
        branch_sessions=_first(wanted.get("branchSessions"), session.get("autoBranchSessions"), True),
        project_name=own.get("name"),
        working_directory=own.get("workingDirectory"),
        variants=_texts(wanted.get("variants")),
        prefix=_first(tmux.get("sessionPrefix"), "agx"),
        windows=_windows(section(project, "tmux").get("windows")),
        window_names=names[: _within(1, _first(tmux.get("defaultWindowCount"), len(names)), len(names))],
        startup_command=tmux.get("startupCommand"),
        attach_timeout=_within(1, _first(units.seconds(tmux.get("attachTimeout")), 10), 600),
        auto_archive=_first(session.get("autoArchive"), True),
        auto_cleanup=_first(wanted.get("autoCleanup"), True),
        cleanup_days=_within(1, _first(session.get("cleanupInactiveDays"), cleanup_days), 36_500),
        backup_count=_within(1, _first(session.get("backupCount"), 5), 1_000),
        statistics=_first(session.get("enableStatistics"), True),
        index_interval=_within(1, _first(units.seconds(storage.get("indexSyncInterval")), index_interval), 86_400),
        global_index=_first(storage.get("enableGlobalIndex"), True),
        compact_threshold=_first(units.size_in_bytes(storage.get("compactThreshold")), 100_000_000),
        confirm_destructive=_first(ui.get("confirmDestructive"), True),
    )


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _within(least: int, value: int, most: int) -> int:
    return max(least, min(value, most))


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(value) if isinstance(value, list) else ()


def _windows(value: Any) -> tuple[Window, ...]:
    held = value if isinstance(value, list) else []
    return tuple(
        Window(each.get("name") or f"window{number}", each.get("path") or ".", each.get("command"))
        for number, each in enumerate(held, 1)
    )
