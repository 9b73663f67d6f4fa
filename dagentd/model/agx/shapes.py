"""What must hold of each document before it is believed; all that is not named here is kept and not looked at."""

from __future__ import annotations

from typing import Any

from dagentd.model.documents import Document

Text = str | None


class _Project(Document):
    name: Text = None
    path: Text = None
    working_directory: Text = None
    git_branch: Text = None
    git_commit: Text = None
    git_remote: Text = None
    git_dirty: bool | None = None


class Window(Document):
    name: Text = None
    path: Text = None
    command: Text = None


class _Windows(Document):
    default_window: Window | None = None
    additional_windows: list[Window] | None = None


class _Tmux(Document):
    session_name: Text = None
    window_count: int | None = None
    is_active: bool | None = None
    last_attached: Text = None
    config: _Windows | None = None


class _Resume(Document):
    can_resume: bool | None = None
    resume_command: Text = None
    last_resume_attempt: Text = None
    resume_errors: list[Any] | None = None


class _Claude(Document):
    session_id: Text = None
    has_active_context: bool | None = None
    last_interaction: Text = None
    context_info: dict[str, Any] | None = None
    resume_info: _Resume | None = None


class _Metadata(Document):
    description: Text = None
    tags: list[Any] | None = None
    variant: Text = None
    is_default: bool | None = None
    custom_data: Any = None


class _Change(Document):
    state: str
    timestamp: Text = None
    reason: Text = None


class _AutoCleanup(Document):
    enabled: bool | None = None
    inactive_threshold: Text = None
    last_cleanup_check: Text = None


class _Lifecycle(Document):
    state: Text = None
    state_history: list[_Change] | None = None
    auto_cleanup: _AutoCleanup | None = None


class Session(Document):
    version: str
    session_id: str
    created: Text = None
    last_accessed: Text = None
    last_modified: Text = None
    project: _Project | None = None
    tmux: _Tmux | None = None
    claude: _Claude | None = None
    metadata: _Metadata | None = None
    statistics: dict[str, Any] | None = None
    lifecycle: _Lifecycle | None = None


class _IndexConfiguration(Document):
    auto_indexing: bool | None = None
    max_index_age: Text = None
    enable_statistics: bool | None = None


class Index(Document):
    version: str
    last_sync: Text = None
    sync_interval: Text = None
    sessions: list[dict[str, Any]]
    statistics: dict[str, Any] | None = None
    configuration: _IndexConfiguration | None = None


class _GlobalDefault(Document):
    session_variant: Text = None
    auto_create_sessions: bool | None = None
    project_detection: Text = None


class _GlobalTmux(Document):
    default_window_count: int | None = None
    window_names: list[str] | None = None
    startup_command: Text = None
    session_prefix: Text = None
    attach_timeout: Text = None


class _GlobalClaude(Document):
    default_model: Text = None
    resume_timeout: Text = None
    default_args: list[str] | None = None
    retry_attempts: int | None = None
    context_preservation: bool | None = None


class _GlobalSession(Document):
    auto_branch_sessions: bool | None = None
    cleanup_inactive_days: int | None = None
    backup_count: int | None = None
    auto_archive: bool | None = None
    enable_statistics: bool | None = None


class _GlobalStorage(Document):
    index_sync_interval: Text = None
    enable_global_index: bool | None = None
    compact_threshold: Text = None
    log_retention_days: int | None = None


class _GlobalUi(Document):
    color_output: bool | None = None
    verbose_logging: bool | None = None
    confirm_destructive: bool | None = None
    default_editor: Text = None


class GlobalConfig(Document):
    version: str
    default: _GlobalDefault | None = None
    tmux: _GlobalTmux | None = None
    claude: _GlobalClaude | None = None
    session: _GlobalSession | None = None
    storage: _GlobalStorage | None = None
    ui: _GlobalUi | None = None


class _ProjectNames(Document):
    name: Text = None
    default_session_variant: Text = None
    working_directory: Text = None


class _ProjectTmux(Document):
    window_count: int | None = None
    windows: list[Window] | None = None


class _ProjectClaude(Document):
    model: Text = None
    context_files: list[str] | None = None


class _ProjectSession(Document):
    variants: list[str] | None = None
    branch_sessions: bool | None = None
    auto_cleanup: bool | None = None


class ProjectConfig(Document):
    version: str
    project: _ProjectNames | None = None
    tmux: _ProjectTmux | None = None
    claude: _ProjectClaude | None = None
    session: _ProjectSession | None = None
