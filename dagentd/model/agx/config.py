"""What the two configuration files say together, over the defaults that AGX has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dagentd.model.agx import Raw, section, units


@dataclass(frozen=True)
class Window:
    name: str
    path: str | None = None  # None: in the working directory
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
    default, tmux, session = section(home, "default"), section(home, "tmux"), section(home, "session")
    storage, ui, claude = section(home, "storage"), section(home, "ui"), section(home, "claude")
    own, wanted, windows = section(project, "project"), section(project, "session"), section(project, "tmux")
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
        attach_timeout=min(_first(units.seconds(tmux.get("attachTimeout")), 10), 600),
        claude_model=_first(section(project, "claude").get("model"), claude.get("defaultModel")),
        claude_args=tuple(claude.get("defaultArgs") or ()),
        context_files=tuple(section(project, "claude").get("contextFiles") or ()),
        auto_archive=_first(session.get("autoArchive"), True),
        auto_cleanup=_first(wanted.get("autoCleanup"), True),
        cleanup_days=_first(session.get("cleanupInactiveDays"), cleanup_days),
        backup_count=_first(session.get("backupCount"), 5),
        statistics=_first(session.get("enableStatistics"), True),
        index_interval=min(_first(units.seconds(storage.get("indexSyncInterval")), index_interval), 86_400),
        global_index=_first(storage.get("enableGlobalIndex"), True),
        compact_threshold=_first(units.size_in_bytes(storage.get("compactThreshold")), 100_000_000),
        log_days=_first(storage.get("logRetentionDays"), 7),
        colour=_first(ui.get("colorOutput"), True),
        confirm_destructive=_first(ui.get("confirmDestructive"), True),
        is_certain=is_certain,
    )  # fmt: skip


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)
