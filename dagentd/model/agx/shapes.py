"""What must hold of each document before it is believed; all that is not named here is kept and not looked at."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict

from dagentd.model.agx import lifecycle, moment
from dagentd.model.documents import Document


def _text(value: Any) -> Any:
    """pydantic's own refuses half an emoji, which other programs do write."""
    if value is not None and not isinstance(value, str):
        raise ValueError("should be a text")
    return value


def _state(value: Any) -> Any:
    if value is not None and value not in lifecycle.STATES:
        raise ValueError(f"should be one of {', '.join(lifecycle.STATES)}")
    return value


def _time(value: Any) -> Any:
    if value is not None and moment(value) is None:
        raise ValueError("should be a time, as 2025-01-24T10:30:00Z")
    return value


Text = Annotated[Any, AfterValidator(_text)]
State = Annotated[Any, AfterValidator(_state)]
Time = Annotated[Any, AfterValidator(_time)]


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
    last_attached: Time = None
    config: _Windows | None = None


class _Resume(Shape):
    can_resume: bool | None = None
    resume_command: Text = None
    last_resume_attempt: Time = None
    resume_errors: list[Any] | None = None


class _Claude(Shape):
    session_id: Text = None
    has_active_context: bool | None = None
    last_interaction: Time = None
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
    timestamp: Time = None
    reason: Text = None


class _AutoCleanup(Shape):
    enabled: bool | None = None
    inactive_threshold: Text = None
    last_cleanup_check: Time = None


class _Lifecycle(Shape):
    state: State = None
    state_history: list[_Change] | None = None
    auto_cleanup: _AutoCleanup | None = None


class Session(Shape):
    version: str
    session_id: str
    created: Time = None
    last_accessed: Time = None
    last_modified: Time = None
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
