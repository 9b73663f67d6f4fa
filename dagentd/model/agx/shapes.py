"""What must hold of each document before it is believed; all that is not named here is kept and not looked at."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict

from dagentd.model.documents import Document


def _text(value: Any) -> Any:
    """pydantic's own refuses half an emoji, which other programs do write."""
    if value is not None and not isinstance(value, str):
        raise ValueError("should be a text")
    return value


Text = Annotated[Any, AfterValidator(_text)]


class Shape(Document):
    """Strict: what is used is the document itself, and a "5" in it stays a text."""

    model_config = ConfigDict(strict=True)


class _Project(Shape):
    name: Text = None
    path: Text = None
    working_directory: Text = None
    git_branch: Text = None
    git_commit: Text = None
    git_remote: Text = None
    git_dirty: bool | None = None


class Window(Shape):
    name: Text = None
    path: Text = None
    command: Text = None


class _Windows(Shape):
    default_window: Window | None = None
    additional_windows: list[Window] | None = None


class _Tmux(Shape):
    session_name: Text = None
    window_count: int | None = None
    is_active: bool | None = None
    last_attached: Text = None
    config: _Windows | None = None


class _Resume(Shape):
    can_resume: bool | None = None
    resume_command: Text = None
    last_resume_attempt: Text = None
    resume_errors: list[Any] | None = None


class _Claude(Shape):
    session_id: Text = None
    has_active_context: bool | None = None
    last_interaction: Text = None
    context_info: dict[str, Any] | None = None
    resume_info: _Resume | None = None


class _Metadata(Shape):
    description: Text = None
    tags: list[Any] | None = None
    variant: Text = None
    is_default: bool | None = None
    custom_data: Any = None


class _Change(Shape):
    state: Text
    timestamp: Text = None
    reason: Text = None


class _AutoCleanup(Shape):
    enabled: bool | None = None
    inactive_threshold: Text = None
    last_cleanup_check: Text = None


class _Lifecycle(Shape):
    state: Text = None
    state_history: list[_Change] | None = None
    auto_cleanup: _AutoCleanup | None = None


class Session(Shape):
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


class _IndexConfiguration(Shape):
    auto_indexing: bool | None = None
    max_index_age: Text = None
    enable_statistics: bool | None = None


class Index(Shape):
    version: str
    last_sync: Text = None
    sync_interval: Text = None
    sessions: list[dict[str, Any]]
    statistics: dict[str, Any] | None = None
    configuration: _IndexConfiguration | None = None


class _GlobalDefault(Shape):
    session_variant: Text = None
    auto_create_sessions: bool | None = None
    project_detection: Text = None


class _GlobalTmux(Shape):
    default_window_count: int | None = None
    window_names: list[Text] | None = None
    startup_command: Text = None
    session_prefix: Text = None
    attach_timeout: Text = None


class _GlobalClaude(Shape):
    default_model: Text = None
    resume_timeout: Text = None
    default_args: list[Text] | None = None
    retry_attempts: int | None = None
    context_preservation: bool | None = None


class _GlobalSession(Shape):
    auto_branch_sessions: bool | None = None
    cleanup_inactive_days: int | None = None
    backup_count: int | None = None
    auto_archive: bool | None = None
    enable_statistics: bool | None = None


class _GlobalStorage(Shape):
    index_sync_interval: Text = None
    enable_global_index: bool | None = None
    compact_threshold: Text = None
    log_retention_days: int | None = None


class _GlobalUi(Shape):
    color_output: bool | None = None
    verbose_logging: bool | None = None
    confirm_destructive: bool | None = None
    default_editor: Text = None


class GlobalConfig(Shape):
    version: str
    default: _GlobalDefault | None = None
    tmux: _GlobalTmux | None = None
    claude: _GlobalClaude | None = None
    session: _GlobalSession | None = None
    storage: _GlobalStorage | None = None
    ui: _GlobalUi | None = None


class _ProjectNames(Shape):
    name: Text = None
    default_session_variant: Text = None
    working_directory: Text = None


class _ProjectTmux(Shape):
    window_count: int | None = None
    windows: list[Window] | None = None


class _ProjectClaude(Shape):
    model: Text = None
    context_files: list[Text] | None = None


class _ProjectSession(Shape):
    variants: list[Text] | None = None
    branch_sessions: bool | None = None
    auto_cleanup: bool | None = None


class ProjectConfig(Shape):
    version: str
    project: _ProjectNames | None = None
    tmux: _ProjectTmux | None = None
    claude: _ProjectClaude | None = None
    session: _ProjectSession | None = None
