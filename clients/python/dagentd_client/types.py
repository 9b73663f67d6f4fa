"""The shapes of what the daemon answers and tells.

Generated from `rpc.discover` by `python -m clients.generate`: do not edit."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

AgentType = Literal["pm", "dev", "qa", "harness", "merge", "feature", "project"]

AgxState = Literal["created", "active", "paused", "completed", "archived"]

CleanupAction = Literal["archive", "remove", "delete"]

EventType = Literal[
    "session:updated",
    "session:compaction-start",
    "session:compaction-complete",
    "session:compaction-error",
    "session:budget",
    "migration:done",
    "migration:error",
    "git:changed",
    "daemon:degraded",
    "daemon:recovered",
    "events:lost",
]

Health = Literal["ok", "degraded", "stopping"]

MigrationAction = Literal[
    "create", "add", "rewrite", "none", "barred", "refused", "paused", "failed", "rolledBack", "kept"
]

SessionStatus = Literal["active", "idle", "archived", "gone"]

SessionType = Literal["feature", "task"]

TaskState = Literal["planning", "in_dev", "dev_complete", "in_qa", "qa_complete", "ready_for_merge", "merged"]

UpdateAction = Literal[
    "created",
    "message_added",
    "compacted",
    "undone",
    "archived",
    "cleared",
    "context",
    "checkpoint",
    "agent_description",
    "pinned",
    "paused",
    "resumed",
    "restored",
]


class AddedMessages(TypedDict):
    messages: list[Message]


class Agent(TypedDict):
    """`folders` are the agent's own, `kept` is ours."""

    name: str
    title: str
    followed: bool
    folders: list[str]
    kept: str
    conversations: int
    bytes: int


class AgentDescription(TypedDict):
    agentType: str
    roleInstructions: NotRequired[str]
    toolInstructions: NotRequired[str]
    createdAt: NotRequired[str]


class Agents(TypedDict):
    agents: list[Agent]


class AgxEntries(TypedDict):
    sessions: list[AgxEntry]


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


class AgxIndex(TypedDict):
    """The fields of the global index beside its sessions."""

    version: str
    lastSync: str
    syncInterval: str
    statistics: dict[str, Any]
    configuration: dict[str, Any]


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


class Breakdown(TypedDict):
    agentDescTokens: int
    contextTokens: int
    checkpointTokens: int
    messagesTokens: int
    userPromptTokens: int
    total: int
    limit: int
    needsCompaction: bool


class Brief(TypedDict):
    """`brief` is Markdown."""

    sessionId: str
    brief: str


class Budget(TypedDict):
    """`share` of `limit` that is used; `estimated` from the sizes of files."""

    limit: int
    share: float
    estimated: bool


class BuiltRequest(TypedDict):
    """Send `systemPrompt` with `userPrompt`, or `preamble` with `messages`: both hold the whole conversation.
    `parts`, the biggest first, are there where it is over the limit."""

    userPrompt: str
    totalTokens: int
    systemPrompt: NotRequired[str]
    preamble: NotRequired[str]
    messages: NotRequired[list[RequestMessage]]
    overLimit: NotRequired[bool]
    parts: NotRequired[list[RequestPart]]


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


class CheckpointChange(TypedDict):
    """A compaction, and how it changed the checkpoint. `messageIds` are of those that left chat, in order.
    `undone`: it was taken back since."""

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


CheckpointItem = TypedDict(
    "CheckpointItem",
    {
        "id": "str",
        "list": "str",
        "text": "str",
        "sources": "list[str]",
        "pinned": "NotRequired[bool]",
        "at": "NotRequired[str]",
        "quote": "NotRequired[str]",
    },
)


class CheckpointSummary(TypedDict):
    completed: list[Any]
    inProgress: list[Any]
    pending: list[Any]
    blockers: list[Any]
    decisions: list[Any]
    facts: NotRequired[list[Any]]
    goal: NotRequired[str]
    next: NotRequired[str]


class CleanupStep(TypedDict):
    action: CleanupAction
    sessionId: str
    reason: str


class CleanupSteps(TypedDict):
    steps: list[CleanupStep]


class Cleared(TypedDict):
    messagesCleared: int


class Compacted(TypedDict):
    """With nothing to compact `method` is null and the counts are 0. `note` says why `local` did it where a model
    was meant to, `remains` what the session is full of if it is still over its threshold."""

    method: str | None
    messagesCompacted: int
    tokensReclaimed: int
    checkpointVersion: int
    note: NotRequired[str]
    remains: NotRequired[str]


class CompactionComplete(TypedDict):
    """A compaction is done; with nothing to do all counts are 0."""

    seq: int
    at: str
    project: str | None
    featureId: str | None
    sessionId: str | None
    taskId: NotRequired[str]
    subscription: str
    type: Literal["session:compaction-complete"]
    messagesCompacted: int
    tokensReclaimed: int
    newCheckpointVersion: int
    compactedAt: str


class CompactionError(TypedDict):
    """A compaction failed, and left all as it was."""

    seq: int
    at: str
    project: str | None
    featureId: str | None
    sessionId: str | None
    taskId: NotRequired[str]
    subscription: str
    type: Literal["session:compaction-error"]
    error: str
    hint: str


class CompactionMetrics(TypedDict):
    """`history` is what the ledger has of the session."""

    totalCompactions: int
    lastCompactionAt: str | None
    totalTokensSaved: int
    checkpointVersion: int
    checkpointTokens: int
    tokens: int
    backend: str | None
    model: str | None
    undoable: int
    history: list[dict[str, Any]]


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


class CompactionStart(TypedDict):
    """A compaction begins. One `session:compaction-complete` or `session:compaction-error` follows."""

    seq: int
    at: str
    project: str | None
    featureId: str | None
    sessionId: str | None
    taskId: NotRequired[str]
    subscription: str
    type: Literal["session:compaction-start"]
    messagesCount: int
    estimatedTokens: int


class Compactions(TypedDict):
    compactions: list[CheckpointChange]


class Context(TypedDict):
    """The facts an agent has of its project. `tokens` has the size of each part, `notes` what could not be
    used."""

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


class DaemonDegraded(TypedDict):
    """The daemon cannot do its work; `messages` say why."""

    seq: int
    at: str
    project: str | None
    featureId: str | None
    sessionId: str | None
    taskId: NotRequired[str]
    subscription: str
    type: Literal["daemon:degraded"]
    messages: list[str]


class DaemonRecovered(TypedDict):
    """All is well again."""

    seq: int
    at: str
    project: str | None
    featureId: str | None
    sessionId: str | None
    taskId: NotRequired[str]
    subscription: str
    type: Literal["daemon:recovered"]
    messages: list[str]


class Description(TypedDict):
    """An OpenRPC document."""

    openrpc: str
    info: dict[str, Any]
    methods: list[dict[str, Any]]
    components: dict[str, Any]


class DiskUse(TypedDict):
    """In bytes."""

    journals: int
    kept: int
    backups: int
    setAside: int


class Empty(TypedDict):
    """Nothing but that it is done."""


EventsLost = TypedDict(
    "EventsLost",
    {
        "seq": "int",
        "at": "str",
        "project": "str | None",
        "featureId": "str | None",
        "sessionId": "str | None",
        "taskId": "NotRequired[str]",
        "subscription": "str",
        "from": "int",
        "to": "int",
        "type": 'Literal["events:lost"]',
    },
)


class Failing(TypedDict):
    """A job that failed; `retryIn` seconds it is tried again, null if only when it is asked for."""

    id: str
    message: str
    path: str
    hint: str
    since: str
    key: str
    name: str
    tries: int
    retryIn: float | None


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


class Features(TypedDict):
    features: list[Feature]


class FollowedAgents(TypedDict):
    """Conversations of other agents: `progress` while old ones are taken in; how many are `elsewhere`, in no
    project of ours; which files are `refused`."""

    agents: list[KeptAgent]
    progress: IntakeProgress | None
    elsewhere: int
    refused: list[RefusedTranscript]


class GitChanged(TypedDict):
    """A commit, checkout, merge or rebase in a worktree; a rebase is one."""

    seq: int
    at: str
    project: str | None
    featureId: str | None
    sessionId: str | None
    taskId: NotRequired[str]
    subscription: str
    type: Literal["git:changed"]
    worktree: str
    branch: str | None
    commit: str | None


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


class IntakeProgress(TypedDict):
    files: int
    bytes: int
    filesDone: int
    bytesDone: int


class KeptAgent(TypedDict):
    name: str
    title: str
    conversations: int
    bytes: int


class LeavingMessage(TypedDict):
    id: str
    role: str


class Memory(TypedDict):
    resident: int
    threads: int
    descriptors: int


class Message(TypedDict):
    """`content` is a text; content blocks that came in its place are in `metadata.content`."""

    id: str
    role: str
    content: str
    timestamp: NotRequired[str | None]
    metadata: NotRequired[dict[str, Any] | None]


class Messages(TypedDict):
    """`total` is how many are in chat; `more` is there, and true, where not all that was asked for fits into a
    line."""

    messages: list[Message]
    total: int
    more: NotRequired[bool]


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


class MigratedFiles(TypedDict):
    files: list[MigratedFile]


class MigrationDone(TypedDict):
    """A file of an older format became a session, or a part of one."""

    seq: int
    at: str
    project: str | None
    featureId: str | None
    sessionId: str | None
    taskId: NotRequired[str]
    subscription: str
    path: str
    format: str | None
    messages: int
    rejected: int
    action: MigrationAction
    added: NotRequired[int]
    error: NotRequired[str]
    type: Literal["migration:done"]


class MigrationError(TypedDict):
    """A file of an older format could not become a session."""

    seq: int
    at: str
    project: str | None
    featureId: str | None
    sessionId: str | None
    taskId: NotRequired[str]
    subscription: str
    path: str
    format: str | None
    messages: int
    rejected: int
    action: MigrationAction
    added: NotRequired[int]
    error: NotRequired[str]
    type: Literal["migration:error"]


class NewMessage(TypedDict):
    """A message to be added; without `id` it gets one."""

    role: Literal["user", "assistant", "system"]
    content: Any
    metadata: NotRequired[dict[str, Any] | None]
    id: NotRequired[str | None]


class Opening(TypedDict):
    """Empty where there is nothing to say."""

    text: str


class Pause(TypedDict):
    """`until` is null where only `resume` ends it."""

    since: str
    until: str | None


class Paused(TypedDict):
    paused: Pause


class Pinned(TypedDict):
    pinned: bool


class PreviewedRequest(TypedDict):
    userPrompt: str
    totalTokens: int
    systemPrompt: NotRequired[str]
    preamble: NotRequired[str]
    messages: NotRequired[list[RequestMessage]]
    overLimit: NotRequired[bool]
    parts: NotRequired[list[RequestPart]]
    breakdown: Breakdown


class Problem(TypedDict):
    """Something that is wrong: since when, where, and what to do about it."""

    id: str
    message: str
    path: str
    hint: str
    since: str


class Project(TypedDict):
    root: str
    readOnly: bool
    worktrees: list[str]
    paused: Pause | None
    pausedSessions: list[str]


class Projects(TypedDict):
    projects: list[Project]


ProposedItem = TypedDict(
    "ProposedItem",
    {
        "id": "str",
        "list": "str",
        "text": "str",
        "sources": "list[str]",
        "quote": "NotRequired[str]",
        "before": "NotRequired[dict[str, Any]]",
    },
)


class Queues(TypedDict):
    waiting: list[Waiting]
    running: list[Running]
    failing: list[Failing]
    done: int


class Recalled(TypedDict):
    remembered: list[Remembered]


class RefusedTranscript(TypedDict):
    path: str
    reason: str


class RejectedEntry(TypedDict):
    index: int
    reason: str


class Remembered(TypedDict):
    """A user's decision, or an agent's note. It is for its feature, else for its worktree, else for the
    project."""

    id: str
    at: str
    by: str
    text: str
    featureId: NotRequired[str]
    worktree: NotRequired[str]
    sessionId: NotRequired[str]
    confirms: NotRequired[str]


class RequestMessage(TypedDict):
    """One turn as the Messages API takes it."""

    role: Literal["user", "assistant"]
    content: Any


class RequestPart(TypedDict):
    part: str
    tokens: int


class Resumed(TypedDict):
    """`ended` is false where there was no pause; `paused` is what still holds, the pause of the project."""

    ended: bool
    paused: SessionPause | None


class Running(TypedDict):
    key: str
    name: str


class Scan(TypedDict):
    sessions: list[ScannedSession]
    problems: list[Problem]


class ScannedSession(TypedDict):
    """`done` says what was done for it, null if nothing was to be done."""

    sessionId: str
    worktree: str
    status: str | None
    messages: int
    done: str | None
    problems: list[Problem]


class ServedProject(TypedDict):
    root: str
    readOnly: bool
    worktrees: list[str]
    paused: Pause | None
    pausedSessions: list[str]
    disk: DiskUse


class Session(TypedDict):
    """A session: its document, and where it is. What another program left out is missing here too. `worktree` is
    null and `gone` true where its worktree is gone."""

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


class SessionBudget(TypedDict):
    """A session reached 75, 85 or 90 % of its budget: once on the way up, for each level."""

    seq: int
    at: str
    project: str | None
    featureId: str | None
    sessionId: str | None
    taskId: NotRequired[str]
    subscription: str
    type: Literal["session:budget"]
    level: float
    share: float
    limit: int
    tokens: int
    parts: list[RequestPart]


class SessionPause(TypedDict):
    """`of` says whose pause it is."""

    since: str
    until: str | None
    of: Literal["project", "session"]


class SessionSummary(TypedDict):
    """A session in a list. One that cannot be read has `error` and `hint`; one whose worktree is gone has `kept`,
    the file it is in. `compacting` says since when that is under way. A conversation of another agent has the
    `type` `followed`, and `agent` to `transcript`: `messages` since the agent's last compaction, of `total`;
    `tokens` that the agent last sent; `size` in bytes; whether the agent still has its `transcript`. `project`
    is null where its folder is in none."""

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
    messages: NotRequired[int]
    total: NotRequired[int]
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


class SessionUpdated(TypedDict):
    """A session changed. Pausing a whole project is one event whose `sessionId` is null."""

    seq: int
    at: str
    project: str | None
    featureId: str | None
    sessionId: str | None
    taskId: NotRequired[str]
    subscription: str
    type: Literal["session:updated"]
    action: UpdateAction
    messageIds: NotRequired[list[str]]
    total: NotRequired[int]
    messages: NotRequired[int]
    version: NotRequired[int]
    pinned: NotRequired[bool]
    itemId: NotRequired[str]
    messageId: NotRequired[str]
    until: NotRequired[str | None]


class Sessions(TypedDict):
    sessions: list[SessionSummary]


class SettingsState(TypedDict):
    """When they were last read again, and which wait for a restart."""

    readAt: str | None
    restart: list[str]


class Spend(TypedDict):
    """Of the last day, beside what it may come to; `cost` in dollars."""

    calls: int
    tokens: int
    cost: float
    maxCallsPerHour: int
    maxTokensPerDay: int


class Stats(TypedDict):
    """`totalMessages` counts what was ever said."""

    totalMessages: NotRequired[int]
    totalTokens: NotRequired[int]
    totalCompactions: NotRequired[int]
    lastCompactionAt: NotRequired[str | None]


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


class Subscription(TypedDict):
    """`seq` is of the last event before it. Not `continuous`: some of what came after `since` is missing."""

    subscription: str
    seq: int
    continuous: bool


class UnderWay(TypedDict):
    """A compaction that goes on just now."""

    sessionId: str
    project: str
    worktree: str
    since: str


class Undone(TypedDict):
    messagesRestored: int
    checkpointVersion: int


class Usage(TypedDict):
    by: Literal["day", "model", "worktree", "session", "agent"]
    rows: list[UsageRow]
    total: UsageRow


class UsageRow(TypedDict):
    """`input` is what was neither read from nor written to a cache, `reasoning` a part of `output`; `cost` in
    dollars, null where no agent said one."""

    name: str
    answers: int
    input: int
    output: int
    cacheRead: int
    cacheWrite: int
    reasoning: int
    cost: float | None


class Waiting(TypedDict):
    key: str
    waiting: list[str]


class Watches(TypedDict):
    mode: str
    count: int
    polled: int
    incidents: list[dict[str, Any]]
    everySeconds: float


class WholeFeature(TypedDict):
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
    tasks: list[FeatureTask]


Event = (
    SessionUpdated
    | SessionBudget
    | CompactionStart
    | CompactionComplete
    | CompactionError
    | MigrationDone
    | MigrationError
    | GitChanged
    | DaemonDegraded
    | DaemonRecovered
    | EventsLost
)
