"""The rules that each document must keep before it is believed, and the versions of the format."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict

from dagentd.agx import lifecycle
from dagentd.agx.values import Raw, moment
from dagentd.errors import Conflict, CorruptFile
from dagentd.model.documents import Document

# What must hold of each document before it is believed; all that is not named here is kept and not looked at.


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


# Versions of the format: which documents are ours to read, which are older, and how those become current.

CURRENT = "1.0.0"
_FORM = re.compile(r"(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?(?:[-+][0-9A-Za-z.+-]*)?", re.ASCII)
_KNOWN = (1, 0, 0)
_FIRST = (0, 0, 0)  # of a document that was written before there were versions

Version = tuple[int, int, int]
Step = Callable[[Raw], Raw]


def version_number(text: Any) -> Version | None:
    """None for what is no version."""
    match = _FORM.fullmatch(text) if isinstance(text, str) else None
    return (int(match[1]), int(match[2]), int(match[3] or 0)) if match else None


def is_older(raw: Raw, path: Path) -> bool:
    """Whether a document is to be migrated; an error, and it stays as it is, if only a newer program understands it.
    A later version of the same major only adds fields, and those are kept."""
    held = _FIRST if "version" not in raw else version_number(raw["version"])
    if held is None:
        raise CorruptFile(f"has a wrong 'version': {raw['version']!a}", path=path, hint=f'Set it to "{CURRENT}".')
    if held[0] > _KNOWN[0]:
        told = f"was written by a newer AGX: its format is {raw['version']}, this dagentd knows {CURRENT}"
        raise Conflict(told, path=path, hint="Update dagentd (git pull && make run); the file was left as it is.")
    return held < _KNOWN


def migrate_document(raw: Raw, fill: Step) -> Raw:
    """In today's format: what it has stays as it is, what it must have and lacks is filled in."""
    lacking = {key: value for key, value in fill(raw).items() if key not in raw}
    head = {"version": CURRENT}
    return {**head, **{key: value for key, value in raw.items() if key != "version"}, **lacking}
