"""The parameters of the methods: what they are called on the socket, and what may be in them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from dagentd.events import EventType
from dagentd.model.ids import AgentType, AgxState, By, SessionType, TaskState

SessionStatus = Literal["active", "idle", "archived", "gone"]


class Params(BaseModel):
    """camelCase outside; a name that is not known is refused, because a misspelt one would be ignored, and so is a
    value of another type, because "no" would be read as false and "10" as a number. `x-shape` names one of `results`,
    for `rpc.discover`; what is given is looked at when it is used."""

    model_config = ConfigDict(defer_build=True, extra="forbid", alias_generator=to_camel, frozen=True, strict=True)


class Nothing(Params):
    pass


class OfProject(Params):
    project: str


class PauseProject(OfProject):
    """Without `seconds` it lasts until it is ended."""

    seconds: int | None = Field(default=None, ge=1)


class ResumeSession(Params):
    """All sessions of a project that have this id are meant."""

    session_id: str
    project: str | None = None


class PauseSession(ResumeSession):
    seconds: int | None = Field(default=None, ge=1)


class Migration(Params):
    """Of all projects or of one; of all files of older formats or of those at or under an absolute path."""

    project: str | None = None
    path: str | None = None


class OfFeature(Params):
    feature_id: str
    project: str | None = None
    worktree: str | None = None


class CreateFeature(Params):
    project: str
    feature_id: str
    name: str | None = None
    description: str | None = None


class Features(Params):
    project: str | None = None


class OfSession(Params):
    """`project` may be left out where the id is unique; `worktree` and `featureId` choose where several have the
    session."""

    session_id: str
    project: str | None = None
    worktree: str | None = None
    feature_id: str | None = None


class Sessions(Params):
    """`agent`, `since` (of the last activity) and `parent` choose among conversations of other agents, of which a
    subagent's are listed only by their `parent`; `worktree` is a path or a name."""

    project: str | None = None
    feature_id: str | None = None
    status: SessionStatus | None = None
    agent: str | None = None
    worktree: str | None = None
    since: str | None = None
    parent: str | None = None
    limit: int | None = Field(default=None, ge=1)


class GetOrCreate(Params):
    project: str
    type: SessionType
    agent_type: AgentType
    feature_id: str
    task_id: str | None = None
    task_state: TaskState | None = None
    worktree: str | None = None


class Restore(OfSession):
    """`featureId` is where it goes; `worktree` chooses where several have the feature."""


class Archive(OfSession):
    """`archived: false` takes it back."""

    archived: bool = True


class UsageReport(Params):
    """Of one project, or of all; `since` is a moment or a day."""

    by: Literal["day", "model", "worktree", "session", "agent"] = "day"
    project: str | None = None
    since: str | None = None


class AddMessage(OfSession):
    role: Literal["user", "assistant", "system"]
    content: Any
    metadata: dict[str, Any] | None = None
    id: str | None = None


class AddMessages(OfSession):
    messages: list[dict[str, Any]] = Field(min_length=1, json_schema_extra={"items": {"x-shape": "NewMessage"}})


class Messages(OfSession):
    limit: int = Field(default=10, ge=0)
    include_internal: bool = False


class History(OfSession):
    before: str | None = None
    limit: int = Field(default=100, ge=1)


class Search(Params):
    query: str
    session_id: str | None = None
    project: str | None = None
    limit: int = Field(default=20, ge=1)
    redacted: bool = False


class UpdateCheckpoint(OfSession):
    checkpoint: dict[str, Any]


class UpdateContext(OfSession):
    context: dict[str, Any] = Field(json_schema_extra={"x-shape": "Context"})


class SetAgentDescription(OfSession):
    agent_description: dict[str, Any] = Field(json_schema_extra={"x-shape": "AgentDescription"})


class PreviewRequest(OfSession):
    user_message: str = ""


class BuildRequest(PreviewRequest):
    """`form` says where the conversation is; `strict` makes a request over the limit an error."""

    form: Literal["system", "messages", "both"] = "both"
    strict: bool = False


class AgxSessions(Params):
    project: str | None = None
    state: AgxState | None = None


class OfAgx(Params):
    session_id: str | None = None
    project: str | None = None


class OneAgx(Params):
    """`project` may be left out where the id is unique."""

    session_id: str
    project: str | None = None


class NewAgx(Params):
    project: str
    name: str | None = None
    description: str = ""
    tags: list[str] = Field(default_factory=list)


class AgxClaude(OfAgx):
    claude_session_id: str


class AgxCleanup(Params):
    project: str
    session_ids: list[str] = Field(default_factory=list)
    dry_run: bool = False


class AgxIndex(Params):
    rebuild: bool = False


class ForceCompact(OfSession):
    """`proposalId` applies what was previewed; `again` does from history what was compacted without a model."""

    proposal_id: str | None = None
    again: bool = False


class Pin(OfSession):
    item_id: str | None = None
    message_id: str | None = None
    pinned: bool = True


class Brief(Params):
    """Of a session, or of the last one at work in `worktree`, by its path or its name."""

    session_id: str | None = None
    project: str | None = None
    worktree: str | None = None
    tokens: int = Field(default=2000, ge=200, le=20_000)


class SessionStart(Params):
    """As the agent's hook has it, also in its own names; what else that tells is passed over. `sessionId` is the
    agent's own, `transcriptPath` where it says that its transcript is."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)

    agent: Literal["claude-code", "codex"]
    session_id: str = Field(pattern="^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
    cwd: str
    source: Literal["startup", "resume", "clear", "compact", "fork"]
    transcript_path: str | None = None


class Remember(Params):
    """`text` is what is new; `confirms` makes a decision of a note. For `featureId`, else for `worktree`, else for the
    whole project. What is `by` an agent is a note, and for a worktree alone."""

    project: str
    text: str | None = None
    confirms: str | None = None
    by: By = "agent"
    feature_id: str | None = None
    worktree: str | None = None
    session_id: str | None = None


class Recall(Params):
    """`worktree`, a path, asks for what somebody at work there is told; `by` for decisions or for notes alone."""

    project: str
    worktree: str | None = None
    by: By | None = None


class Withdraw(Params):
    project: str
    id: str
    by: By = "agent"


class Subscribe(Params):
    types: list[EventType] | None = None
    project: str | None = None
    session_id: str | None = None
    since: int | None = None


class Unsubscribe(Params):
    subscription: str
