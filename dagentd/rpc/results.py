"""The shapes of what the methods answer, as `rpc.discover` describes them. Plain dictionaries at run time: a class for
each would cost every start, and what others wrote into a document passes through as it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NotRequired

from pydantic import with_config
from typing_extensions import TypedDict

Health = Literal["ok", "degraded", "stopping"]
MigrationAction = Literal[
    "create", "add", "rewrite", "none", "barred", "refused", "paused", "failed", "rolledBack", "kept"
]
CleanupAction = Literal["archive", "remove", "delete"]


class Empty(TypedDict):
    """Nothing but that it is done."""


# --- documents: what others wrote into them is there too -------------------------------------------------------


@with_config(extra="allow")
class Session(TypedDict):
    """A session: its document, and where it is. What another program left out is missing here too. `worktree` is null
    and `gone` true where its worktree is gone."""

    id: str
    project: str
    worktree: str | None
    type: NotRequired[str]
    agentType: NotRequired[str]
    featureId: NotRequired[str | None]
    taskId: NotRequired[str | None]
    taskState: NotRequired[str | None]
    status: NotRequired[str]
    createdAt: NotRequired[str]
    updatedAt: NotRequired[str]
    files: NotRequired[dict[str, Any]]
    stats: NotRequired[Stats]
    gone: NotRequired[bool]
    paused: NotRequired[SessionPause]


@with_config(extra="allow")
class Stats(TypedDict):
    """`totalMessages` counts what was ever said."""

    totalMessages: NotRequired[int]
    totalTokens: NotRequired[int]
    totalCompactions: NotRequired[int]
    lastCompactionAt: NotRequired[str | None]


@with_config(extra="allow")
class Message(TypedDict):
    """`content` is a text; content blocks that came in its place are in `metadata.content`."""

    id: str
    role: str
    content: str
    timestamp: NotRequired[str | None]
    metadata: NotRequired[dict[str, Any] | None]


class NewMessage(TypedDict):
    """A message to be added; without `id` it gets one."""

    role: Literal["user", "assistant", "system"]
    content: Any
    metadata: NotRequired[dict[str, Any] | None]
    id: NotRequired[str | None]


@with_config(extra="allow")
class CheckpointSummary(TypedDict):
    completed: list[Any]
    inProgress: list[Any]
    pending: list[Any]
    blockers: list[Any]
    decisions: list[Any]
    facts: NotRequired[list[Any]]
    goal: NotRequired[str]
    next: NotRequired[str]


@with_config(extra="allow")
class CheckpointItem(TypedDict):
    """An entry of the summary with its id and the messages it rests on."""

    id: str
    list: str
    text: str
    sources: Sequence[str]
    pinned: NotRequired[bool]
    at: NotRequired[str]
    quote: NotRequired[str]


@with_config(extra="allow")
class Checkpoint(TypedDict):
    """The checkpoint: a summary of the messages that left chat."""

    version: int
    summary: CheckpointSummary
    items: NotRequired[list[CheckpointItem]]
    createdAt: NotRequired[str]
    updatedAt: NotRequired[str]
    compactionInfo: NotRequired[dict[str, Any]]
    stats: NotRequired[dict[str, Any]]
    tokens: NotRequired[dict[str, Any]]
    backend: NotRequired[str]
    model: NotRequired[str | None]


@with_config(extra="allow")
class Context(TypedDict):
    """The facts an agent has of its project. `tokens` has the size of each part, `notes` what could not be used."""

    projectRoot: NotRequired[str]
    worktree: NotRequired[str]
    featureId: NotRequired[str]
    featureName: NotRequired[str]
    featureGoal: NotRequired[str]
    taskId: NotRequired[str]
    taskTitle: NotRequired[str]
    taskDescription: NotRequired[str]
    taskState: NotRequired[str]
    dagSummary: NotRequired[str]
    projectStructure: NotRequired[str]
    claudeMd: NotRequired[str]
    agentsMd: NotRequired[str]
    projectMd: NotRequired[str]
    spec: NotRequired[str]
    remembered: NotRequired[list[Remembered]]
    recentCommits: NotRequired[list[str]]
    gitBranch: NotRequired[str | None]
    gitCommit: NotRequired[str | None]
    notes: NotRequired[list[str]]
    updatedAt: NotRequired[str]
    tokens: NotRequired[dict[str, int]]


@with_config(extra="allow")
class Remembered(TypedDict):
    """A user's decision, or an agent's note. It is for its feature, else for its worktree, else for the project."""

    id: str
    at: str
    by: str
    text: str
    featureId: NotRequired[str]
    worktree: NotRequired[str]
    sessionId: NotRequired[str]
    confirms: NotRequired[str]


class Brief(TypedDict):
    """`brief` is Markdown."""

    sessionId: str
    brief: str


class Opening(TypedDict):
    """Empty where there is nothing to say."""

    text: str


class Recalled(TypedDict):
    remembered: list[Remembered]


@with_config(extra="allow")
class AgentDescription(TypedDict):
    agentType: str
    roleInstructions: NotRequired[str]
    toolInstructions: NotRequired[str]
    createdAt: NotRequired[str]


@with_config(extra="allow")
class Feature(TypedDict):
    """A feature's document, where it is, and how far its tasks are; `error` where it cannot be read."""

    id: str
    project: str
    worktree: str
    name: NotRequired[str]
    status: NotRequired[str]
    branchName: NotRequired[str]
    description: NotRequired[str]
    sessionId: NotRequired[str | None]
    dagSummary: NotRequired[str | None]
    error: NotRequired[str]


class FeatureTask(TypedDict):
    """`stage` is what its status comes to; `x` and `y` are where `layout.json` has it."""

    id: str
    title: str
    status: Any
    stage: Literal["complete", "in progress", "pending"]
    dependencies: list[str]
    x: NotRequired[float]
    y: NotRequired[float]


@with_config(extra="allow")
class WholeFeature(Feature):
    tasks: list[FeatureTask]


@with_config(extra="allow")
class AgxSession(TypedDict):
    """The document of an AGX session."""

    version: str
    sessionId: str
    created: str
    lastAccessed: NotRequired[str]
    lastModified: NotRequired[str]
    project: NotRequired[dict[str, Any]]
    tmux: NotRequired[dict[str, Any]]
    claude: NotRequired[dict[str, Any]]
    metadata: NotRequired[dict[str, Any]]
    statistics: NotRequired[dict[str, Any]]
    lifecycle: NotRequired[dict[str, Any]]


# --- daemon and projects ---------------------------------------------------------------------------------------


class Pause(TypedDict):
    """`until` is null where only `resume` ends it."""

    since: str
    until: str | None


class SessionPause(Pause):
    """`of` says whose pause it is."""

    of: Literal["project", "session"]


class Paused(TypedDict):
    paused: Pause


class Resumed(TypedDict):
    """`ended` is false where there was no pause; `paused` is what still holds, the pause of the project."""

    ended: bool
    paused: SessionPause | None


class DiskUse(TypedDict):
    """In bytes."""

    journals: int
    kept: int
    backups: int
    setAside: int


class Project(TypedDict):
    root: str
    readOnly: bool
    worktrees: list[str]
    paused: Pause | None
    pausedSessions: list[str]


class ServedProject(Project):
    disk: DiskUse


class Projects(TypedDict):
    projects: list[Project]


class Problem(TypedDict):
    """Something that is wrong: since when, where, and what to do about it."""

    id: str
    message: str
    path: str
    hint: str
    since: str


class Waiting(TypedDict):
    key: str
    waiting: list[str]


class Running(TypedDict):
    key: str
    name: str


class Failing(Problem):
    """A job that failed; `retryIn` seconds it is tried again, null if only when it is asked for."""

    key: str
    name: str
    tries: int
    retryIn: float | None


class Queues(TypedDict):
    waiting: list[Waiting]
    running: list[Running]
    failing: list[Failing]
    done: int


class UnderWay(TypedDict):
    """A compaction that goes on just now."""

    sessionId: str
    project: str
    worktree: str
    since: str


class Watches(TypedDict):
    mode: str
    count: int
    polled: int
    incidents: list[dict[str, Any]]
    everySeconds: float


class Spend(TypedDict):
    """Of the last day, beside what it may come to; `cost` in dollars."""

    calls: int
    tokens: int
    cost: float
    maxCallsPerHour: int
    maxTokensPerDay: int


class Memory(TypedDict):
    resident: int
    threads: int
    descriptors: int


class SettingsState(TypedDict):
    """When they were last read again, and which wait for a restart."""

    readAt: str | None
    restart: list[str]


class KeptAgent(TypedDict):
    name: str
    title: str
    conversations: int
    bytes: int


class IntakeProgress(TypedDict):
    files: int
    bytes: int
    filesDone: int
    bytesDone: int


class RefusedTranscript(TypedDict):
    path: str
    reason: str


class FollowedAgents(TypedDict):
    """Conversations of other agents: `progress` while old ones are taken in; how many are `elsewhere`, in no project of
    ours; which files are `refused`."""

    agents: list[KeptAgent]
    progress: IntakeProgress | None
    elsewhere: int
    refused: list[RefusedTranscript]


class Status(TypedDict):
    """How the daemon is."""

    pid: int
    health: Health
    version: str
    protocol: int
    uptime: float
    projects: list[ServedProject]
    queues: Queues
    compacting: list[UnderWay]
    watches: Watches
    spend: Spend
    problems: list[Problem]
    memory: Memory | None
    agents: FollowedAgents
    connections: int
    settings: SettingsState


class ScannedSession(TypedDict):
    """`done` says what was done for it, null if nothing was to be done."""

    sessionId: str
    worktree: str
    status: str | None
    messages: int
    done: str | None
    problems: list[Problem]


class Scan(TypedDict):
    sessions: list[ScannedSession]
    problems: list[Problem]


class Features(TypedDict):
    features: list[Feature]


class MigratedFile(TypedDict):
    """A file of an older format, and what would be done with it, or was."""

    path: str
    format: str | None
    sessionId: str | None
    messages: int
    rejected: list[RejectedEntry]
    action: MigrationAction
    added: NotRequired[int]
    error: NotRequired[str]
    hint: NotRequired[str]
    note: NotRequired[str]


class RejectedEntry(TypedDict):
    index: int
    reason: str


class MigratedFiles(TypedDict):
    files: list[MigratedFile]


# --- sessions --------------------------------------------------------------------------------------------------


class Budget(TypedDict):
    """`share` of `limit` that is used; `estimated` from the sizes of files."""

    limit: int
    share: float
    estimated: bool


class SessionSummary(TypedDict):
    """A session in a list. One that cannot be read has `error` and `hint`; one whose worktree is gone has `kept`, the
    file it is in. `compacting` says since when that is under way. A conversation of another agent has the `type`
    `followed`, and `agent` to `transcript`: `messages` since the agent's last compaction, of `total`; `tokens` that the
    agent last sent; `size` in bytes; whether the agent still has its `transcript`. `project` is null where its folder
    is in none."""

    id: str
    project: str | None
    worktree: str | None
    featureId: NotRequired[str | None]
    type: NotRequired[str]
    agentType: NotRequired[str]
    taskId: NotRequired[str | None]
    taskState: NotRequired[str | None]
    status: NotRequired[str]
    createdAt: NotRequired[str]
    updatedAt: NotRequired[str]
    stats: NotRequired[Stats]
    tokens: NotRequired[int | None]
    agent: NotRequired[str]
    title: NotRequired[str | None]
    model: NotRequired[str | None]
    branch: NotRequired[str | None]
    startedAt: NotRequired[str | None]
    lastActiveAt: NotRequired[str | None]
    messages: NotRequired[int]  # in chat
    total: NotRequired[int]  # ever said
    size: NotRequired[int]
    transcript: NotRequired[Literal["present", "deleted"]]
    budget: NotRequired[Budget]
    paused: NotRequired[SessionPause]
    compacting: NotRequired[str]
    restored: NotRequired[dict[str, Any]]
    kept: NotRequired[str]
    daysLeft: NotRequired[int | None]
    error: NotRequired[str]
    hint: NotRequired[str]


class Sessions(TypedDict):
    sessions: list[SessionSummary]


class AddedMessages(TypedDict):
    messages: list[Message]


class Messages(TypedDict):
    """`total` is how many are in chat; `more` is there, and true, where not all that was asked for fits into a line."""

    messages: list[Message]
    total: int
    more: NotRequired[bool]


class History(TypedDict):
    """`more`: there are earlier ones; ask for them with `before` and the id of the first message here."""

    messages: list[Message]
    more: bool


class Hit(TypedDict):
    sessionId: str
    messageId: str
    role: str
    timestamp: str | None
    snippet: str


class Hits(TypedDict):
    hits: list[Hit]


class UsageRow(TypedDict):
    """`input` is what was neither read from nor written to a cache, `reasoning` a part of `output`; `cost` in dollars,
    null where no agent said one."""

    name: str
    answers: int
    input: int
    output: int
    cacheRead: int
    cacheWrite: int
    reasoning: int
    cost: float | None


class Usage(TypedDict):
    by: Literal["day", "model", "worktree", "session", "agent"]
    rows: list[UsageRow]
    total: UsageRow


class Agent(TypedDict):
    """`folders` are the agent's own, `kept` is ours."""

    name: str
    title: str
    followed: bool
    folders: list[str]
    kept: str
    conversations: int
    bytes: int


class Agents(TypedDict):
    agents: list[Agent]


class Cleared(TypedDict):
    messagesCleared: int


class RequestMessage(TypedDict):
    """One turn as the Messages API takes it."""

    role: Literal["user", "assistant"]
    content: Any


class RequestPart(TypedDict):
    part: str
    tokens: int


class BuiltRequest(TypedDict):
    """Send `systemPrompt` with `userPrompt`, or `preamble` with `messages`: both hold the whole conversation. `parts`,
    the biggest first, are there where it is over the limit."""

    userPrompt: str
    totalTokens: int
    systemPrompt: NotRequired[str]
    preamble: NotRequired[str]
    messages: NotRequired[list[RequestMessage]]
    overLimit: NotRequired[bool]
    parts: NotRequired[list[RequestPart]]


class Breakdown(TypedDict):
    agentDescTokens: int
    contextTokens: int
    checkpointTokens: int
    messagesTokens: int
    userPromptTokens: int
    total: int
    limit: int
    needsCompaction: bool


class PreviewedRequest(BuiltRequest):
    breakdown: Breakdown


class Pinned(TypedDict):
    pinned: bool


# --- compaction ------------------------------------------------------------------------------------------------


class LeavingMessage(TypedDict):
    id: str
    role: str


class ProposedItem(TypedDict):
    """An item as it would be, or as it was if it leaves; `before` where there was another one in its place."""

    id: str
    list: str
    text: str
    sources: Sequence[str]
    quote: NotRequired[str]
    before: NotRequired[dict[str, Any]]


class CompactionProposal(TypedDict):
    """With nothing to compact `proposalId` is null and the lists are empty."""

    proposalId: str | None
    messages: list[LeavingMessage]
    added: list[ProposedItem]
    moved: list[ProposedItem]
    resolved: list[ProposedItem]
    superseded: list[ProposedItem]
    tokensBefore: int
    tokensAfter: int
    method: NotRequired[str]
    model: NotRequired[str | None]
    itemsLeft: NotRequired[int]
    checkpoint: NotRequired[Checkpoint]
    note: NotRequired[str]
    remains: NotRequired[str]


class Compacted(TypedDict):
    """With nothing to compact `method` is null and the counts are 0. `note` says why `local` did it where a model was
    meant to, `remains` what the session is full of if it is still over its threshold."""

    method: str | None
    messagesCompacted: int
    tokensReclaimed: int
    checkpointVersion: int
    note: NotRequired[str]
    remains: NotRequired[str]


class Undone(TypedDict):
    messagesRestored: int
    checkpointVersion: int


class CompactionMetrics(TypedDict):
    """`history` is what the ledger has of the session."""

    totalCompactions: int
    lastCompactionAt: str | None
    totalTokensSaved: int
    checkpointVersion: int
    checkpointTokens: int
    tokens: int  # of the whole session now, as `session.previewCompaction` counts them
    backend: str | None
    model: str | None
    undoable: int
    history: list[dict[str, Any]]


class CheckpointChange(TypedDict):
    """A compaction, and how it changed the checkpoint. `messageIds` are of those that left chat, in order. `undone`:
    it was taken back since."""

    at: str
    checkpointVersion: int
    messages: int
    messageIds: list[str]
    undone: bool
    backend: str | None
    model: str | None
    added: list[ProposedItem]
    moved: list[ProposedItem]
    resolved: list[ProposedItem]
    superseded: list[ProposedItem]


class Compactions(TypedDict):
    compactions: list[CheckpointChange]


# --- AGX, events -----------------------------------------------------------------------------------------------


@with_config(extra="allow")
class AgxEntry(TypedDict):
    """An AGX session as the global index has it; `isCurrent` where one project was asked for."""

    sessionId: str
    projectName: str
    projectPath: str
    sessionFile: str
    variant: str | None
    isDefault: bool
    status: dict[str, Any]
    runtime: dict[str, Any]
    git: dict[str, Any]
    metadata: dict[str, Any]
    isCurrent: NotRequired[bool]


class AgxEntries(TypedDict):
    sessions: list[AgxEntry]


class CleanupStep(TypedDict):
    action: CleanupAction
    sessionId: str
    reason: str


class CleanupSteps(TypedDict):
    steps: list[CleanupStep]


@with_config(extra="allow")
class AgxIndex(TypedDict):
    """The fields of the global index beside its sessions."""

    version: str
    lastSync: str
    syncInterval: str
    statistics: dict[str, Any]
    configuration: dict[str, Any]


class Subscription(TypedDict):
    """`seq` is of the last event before it. Not `continuous`: some of what came after `since` is missing."""

    subscription: str
    seq: int
    continuous: bool


@with_config(extra="allow")
class Description(TypedDict):
    """An OpenRPC document."""

    openrpc: str
    info: dict[str, Any]
    methods: list[dict[str, Any]]
    components: dict[str, Any]
