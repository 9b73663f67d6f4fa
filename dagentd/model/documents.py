"""The five documents of a session, as they are on disk; what we do not know in them is kept."""

from __future__ import annotations

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from dagentd.model.jsontext import Undecodable


class Document(BaseModel):
    """Python names inside, camelCase outside. Only what was there or was set is written back, so a null
    stays a null and a missing field stays missing."""

    model_config = ConfigDict(defer_build=True, extra="allow", alias_generator=to_camel, populate_by_name=True)

    @classmethod
    def parse(cls, raw: Any) -> Self:
        try:
            return cls.model_validate(raw)
        except ValidationError as error:
            raise Undecodable(_in_words(error)) from None

    def raw(self) -> dict[str, Any]:
        return self.model_dump(by_alias=True, exclude_unset=True)


class Position(Document):
    """How far into the journal a projection goes: an offset, and the hash of the record that ends there."""

    pos: int
    sum: str


class Message(Document):
    id: str | None = None
    role: Any = None
    content: Any = None
    timestamp: Any = None
    metadata: Any = None


class Chat(Document):
    messages: list[Any]
    total_messages: Any = None
    oldest_message_timestamp: Any = None
    newest_message_timestamp: Any = None
    dagentd: Any = None


class Summary(Document):
    completed: list[Any] = Field(default_factory=list)
    in_progress: list[Any] = Field(default_factory=list)
    pending: list[Any] = Field(default_factory=list)
    blockers: list[Any] = Field(default_factory=list)
    decisions: list[Any] = Field(default_factory=list)
    facts: Any = None
    goal: Any = None
    next: Any = None


class Checkpoint(Document):
    version: int = 1
    created_at: Any = None
    updated_at: Any = None
    summary: Summary = Field(default_factory=Summary)
    items: Any = None
    compaction_info: Any = None
    stats: Any = None
    ralph_loop: Any = None
    tokens: Any = None
    backend: Any = None
    model: Any = None
    dagentd: Any = None


class Session(Document):
    id: str
    type: str = "feature"
    agent_type: str = "pm"
    feature_id: str = ""
    task_id: str | None = None
    task_state: str | None = None
    created_at: Any = None
    updated_at: Any = None
    status: str = "active"
    files: Any = None
    stats: Any = None
    migrated_from: Any = None
    dagentd: Any = None


DERIVED = ("stats", "updatedAt", "dagentd", "files")  # computed, so that nobody's copy of them counts


class Context(Document):
    """`projectRoot` is the project's, as in the seeds; `worktree` is where the agent works, which may be the same."""

    project_root: Any = None
    worktree: Any = None
    feature_id: Any = None
    feature_name: Any = None
    feature_goal: Any = None
    task_id: Any = None
    task_title: Any = None
    task_description: Any = None
    task_state: Any = None
    dag_summary: Any = None
    tasks: Any = None
    dependencies: Any = None
    dependency_info: Any = None
    dependents: Any = None
    dependent_info: Any = None
    plan: Any = None
    project_structure: Any = None
    claude_md: Any = None
    project_md: Any = None
    agents_md: Any = None
    spec: Any = None
    attachments: Any = None
    remembered: Any = None
    recent_commits: Any = None
    git_branch: Any = None
    git_commit: Any = None
    notes: Any = None
    updated_at: Any = None
    tokens: Any = None


class AgentDescription(Document):
    agent_type: str
    role_instructions: str = ""
    tool_instructions: str = ""
    created_at: Any = None


def position_of(raw: dict[str, Any]) -> Position | None:
    """The journal position a document carries; None for one that somebody else made."""
    try:
        return Position.parse(raw["dagentd"])
    except (KeyError, Undecodable):
        return None


def version_of(checkpoint: dict[str, Any] | None) -> int:
    """A checkpoint's version, also where another program wrote it as a text; 0 if it has none."""
    try:
        return int((checkpoint or {}).get("version", 0))
    except (TypeError, ValueError, OverflowError):
        return 0


def _in_words(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"]) or "document"
    if first["type"] == "missing":
        return f"has no {where!a}"
    told = first["msg"].removeprefix("Value error, ")
    return f"has a wrong {where!a}: {told[:1].lower()}{told[1:]}"
