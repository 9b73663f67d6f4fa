"""The shapes of the events, as `rpc.discover` describes them: one for each type, by its name."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from dagentd.rpc.results import MigrationAction, RequestPart

UpdateAction = Literal[
    "created", "message_added", "compacted", "undone", "archived", "cleared", "context", "checkpoint",
    "agent_description", "pinned", "paused", "resumed", "restored",
]  # fmt: skip


class EventHead(TypedDict):
    """`seq` only grows; `subscription` is the id that `events.subscribe` answered. What an event is not about is
    null."""

    seq: int
    at: str
    project: str | None
    featureId: str | None
    sessionId: str | None
    taskId: NotRequired[str]
    subscription: str


class SessionUpdated(EventHead):
    """A session changed. Pausing a whole project is one event whose `sessionId` is null."""

    type: Literal["session:updated"]
    action: UpdateAction
    messageIds: NotRequired[list[str]]  # message_added
    total: NotRequired[int]  # message_added, of another agent's conversation: how many it has now
    messages: NotRequired[int]  # compacted, cleared, undone: how many left chat or came back
    version: NotRequired[int]  # checkpoint
    pinned: NotRequired[bool]
    itemId: NotRequired[str]  # pinned, of a checkpoint's item
    messageId: NotRequired[str]  # pinned, of a message
    until: NotRequired[str | None]  # paused: null if only `resume` ends it


class SessionBudget(EventHead):
    """A session reached 75, 85 or 90 % of its budget: once on the way up, for each level."""

    type: Literal["session:budget"]
    level: float
    share: float
    limit: int
    tokens: int
    parts: list[RequestPart]


class CompactionStart(EventHead):
    """A compaction begins. One `session:compaction-complete` or `session:compaction-error` follows."""

    type: Literal["session:compaction-start"]
    messagesCount: int
    estimatedTokens: int


class CompactionComplete(EventHead):
    """A compaction is done; with nothing to do all counts are 0."""

    type: Literal["session:compaction-complete"]
    messagesCompacted: int
    tokensReclaimed: int
    newCheckpointVersion: int
    compactedAt: str


class CompactionError(EventHead):
    """A compaction failed, and left all as it was."""

    type: Literal["session:compaction-error"]
    error: str
    hint: str


class _Migration(EventHead):
    path: str
    format: str | None
    messages: int
    rejected: int
    action: MigrationAction
    added: NotRequired[int]
    error: NotRequired[str]


class MigrationDone(_Migration):
    """A file of an older format became a session, or a part of one."""

    type: Literal["migration:done"]


class MigrationError(_Migration):
    """A file of an older format could not become a session."""

    type: Literal["migration:error"]


class GitChanged(EventHead):
    """A commit, checkout, merge or rebase in a worktree; a rebase is one."""

    type: Literal["git:changed"]
    worktree: str
    branch: str | None
    commit: str | None


class DaemonDegraded(EventHead):
    """The daemon cannot do its work; `messages` say why."""

    type: Literal["daemon:degraded"]
    messages: list[str]


class DaemonRecovered(EventHead):
    """All is well again."""

    type: Literal["daemon:recovered"]
    messages: list[str]


_Lost = TypedDict("_Lost", {"from": int, "to": int})


class EventsLost(EventHead, _Lost):
    """You read too slowly: what you asked for of the events `from` to `to` is missing. It comes whatever `types` you
    asked for, and its `seq` is that of the last one lost."""

    type: Literal["events:lost"]


EVENTS: tuple[Any, ...] = (
    SessionUpdated, SessionBudget, CompactionStart, CompactionComplete, CompactionError, MigrationDone, MigrationError,
    GitChanged, DaemonDegraded, DaemonRecovered, EventsLost,
)  # fmt: skip
