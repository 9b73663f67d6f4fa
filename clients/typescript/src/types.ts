// Generated from `rpc.discover` by `python -m clients.generate`: do not edit.

export interface AddedMessages {
  messages: Message[]
}

/** `folders` are the agent's own, `kept` is ours. */
export interface Agent {
  name: string
  title: string
  followed: boolean
  folders: string[]
  kept: string
  conversations: number
  bytes: number
}

export interface AgentDescription {
  agentType: string
  roleInstructions?: string
  toolInstructions?: string
  createdAt?: string
  [field: string]: unknown
}

export type AgentType = "pm" | "dev" | "qa" | "harness" | "merge" | "feature" | "project"

export interface Agents {
  agents: Agent[]
}

export interface AgxEntries {
  sessions: AgxEntry[]
}

/** An AGX session as the global index has it; `isCurrent` where one project was asked for. */
export interface AgxEntry {
  sessionId: string
  projectName: string
  projectPath: string
  sessionFile: string
  variant: string | null
  isDefault: boolean
  status: Record<string, unknown>
  runtime: Record<string, unknown>
  git: Record<string, unknown>
  metadata: Record<string, unknown>
  isCurrent?: boolean
  [field: string]: unknown
}

/** The fields of the global index beside its sessions. */
export interface AgxIndex {
  version: string
  lastSync: string
  syncInterval: string
  statistics: Record<string, unknown>
  configuration: Record<string, unknown>
  [field: string]: unknown
}

/** The document of an AGX session. */
export interface AgxSession {
  version: string
  sessionId: string
  created: string
  lastAccessed?: string
  lastModified?: string
  project?: Record<string, unknown>
  tmux?: Record<string, unknown>
  claude?: Record<string, unknown>
  metadata?: Record<string, unknown>
  statistics?: Record<string, unknown>
  lifecycle?: Record<string, unknown>
  [field: string]: unknown
}

export type AgxState = "created" | "active" | "paused" | "completed" | "archived"

export interface Breakdown {
  agentDescTokens: number
  contextTokens: number
  checkpointTokens: number
  messagesTokens: number
  userPromptTokens: number
  total: number
  limit: number
  needsCompaction: boolean
}

/** `brief` is Markdown. */
export interface Brief {
  sessionId: string
  brief: string
}

/** `share` of `limit` that is used; `estimated` from the sizes of files. */
export interface Budget {
  limit: number
  share: number
  estimated: boolean
}

/**
 * Send `systemPrompt` with `userPrompt`, or `preamble` with `messages`: both hold the whole conversation. `parts`,
 * the biggest first, are there where it is over the limit.
 */
export interface BuiltRequest {
  userPrompt: string
  totalTokens: number
  systemPrompt?: string
  preamble?: string
  messages?: RequestMessage[]
  overLimit?: boolean
  parts?: RequestPart[]
}

/** The checkpoint: a summary of the messages that left chat. */
export interface Checkpoint {
  version: number
  summary: CheckpointSummary
  items?: CheckpointItem[]
  createdAt?: string
  updatedAt?: string
  compactionInfo?: Record<string, unknown>
  stats?: Record<string, unknown>
  tokens?: Record<string, unknown>
  backend?: string
  model?: string | null
  [field: string]: unknown
}

/**
 * A compaction, and how it changed the checkpoint. `messageIds` are of those that left chat, in order. `undone`:
 * it was taken back since.
 */
export interface CheckpointChange {
  at: string
  checkpointVersion: number
  messages: number
  messageIds: string[]
  undone: boolean
  backend: string | null
  model: string | null
  added: ProposedItem[]
  moved: ProposedItem[]
  resolved: ProposedItem[]
  superseded: ProposedItem[]
}

/** An entry of the summary with its id and the messages it rests on. */
export interface CheckpointItem {
  id: string
  list: string
  text: string
  sources: string[]
  pinned?: boolean
  at?: string
  quote?: string
  [field: string]: unknown
}

export interface CheckpointSummary {
  completed: unknown[]
  inProgress: unknown[]
  pending: unknown[]
  blockers: unknown[]
  decisions: unknown[]
  facts?: unknown[]
  goal?: string
  next?: string
  [field: string]: unknown
}

export type CleanupAction = "archive" | "remove" | "delete"

export interface CleanupStep {
  action: CleanupAction
  sessionId: string
  reason: string
}

export interface CleanupSteps {
  steps: CleanupStep[]
}

export interface Cleared {
  messagesCleared: number
}

/**
 * With nothing to compact `method` is null and the counts are 0. `note` says why `local` did it where a model was
 * meant to, `remains` what the session is full of if it is still over its threshold.
 */
export interface Compacted {
  method: string | null
  messagesCompacted: number
  tokensReclaimed: number
  checkpointVersion: number
  note?: string
  remains?: string
}

/** A compaction is done; with nothing to do all counts are 0. */
export interface CompactionComplete {
  seq: number
  at: string
  project: string | null
  featureId: string | null
  sessionId: string | null
  taskId?: string
  subscription: string
  type: "session:compaction-complete"
  messagesCompacted: number
  tokensReclaimed: number
  newCheckpointVersion: number
  compactedAt: string
}

/** A compaction failed, and left all as it was. */
export interface CompactionError {
  seq: number
  at: string
  project: string | null
  featureId: string | null
  sessionId: string | null
  taskId?: string
  subscription: string
  type: "session:compaction-error"
  error: string
  hint: string
}

/** `history` is what the ledger has of the session. */
export interface CompactionMetrics {
  totalCompactions: number
  lastCompactionAt: string | null
  totalTokensSaved: number
  checkpointVersion: number
  checkpointTokens: number
  tokens: number
  backend: string | null
  model: string | null
  undoable: number
  history: Record<string, unknown>[]
}

/** With nothing to compact `proposalId` is null and the lists are empty. */
export interface CompactionProposal {
  proposalId: string | null
  messages: LeavingMessage[]
  added: ProposedItem[]
  moved: ProposedItem[]
  resolved: ProposedItem[]
  superseded: ProposedItem[]
  tokensBefore: number
  tokensAfter: number
  method?: string
  model?: string | null
  itemsLeft?: number
  checkpoint?: Checkpoint
  note?: string
  remains?: string
}

/** A compaction begins. One `session:compaction-complete` or `session:compaction-error` follows. */
export interface CompactionStart {
  seq: number
  at: string
  project: string | null
  featureId: string | null
  sessionId: string | null
  taskId?: string
  subscription: string
  type: "session:compaction-start"
  messagesCount: number
  estimatedTokens: number
}

export interface Compactions {
  compactions: CheckpointChange[]
}

/**
 * The facts an agent has of its project. `tokens` has the size of each part, `notes` what could not be used.
 */
export interface Context {
  projectRoot?: string
  worktree?: string
  featureId?: string
  featureName?: string
  featureGoal?: string
  taskId?: string
  taskTitle?: string
  taskDescription?: string
  taskState?: string
  dagSummary?: string
  projectStructure?: string
  claudeMd?: string
  agentsMd?: string
  projectMd?: string
  spec?: string
  remembered?: Remembered[]
  recentCommits?: string[]
  gitBranch?: string | null
  gitCommit?: string | null
  notes?: string[]
  updatedAt?: string
  tokens?: Record<string, number>
  [field: string]: unknown
}

/** The daemon cannot do its work; `messages` say why. */
export interface DaemonDegraded {
  seq: number
  at: string
  project: string | null
  featureId: string | null
  sessionId: string | null
  taskId?: string
  subscription: string
  type: "daemon:degraded"
  messages: string[]
}

/** All is well again. */
export interface DaemonRecovered {
  seq: number
  at: string
  project: string | null
  featureId: string | null
  sessionId: string | null
  taskId?: string
  subscription: string
  type: "daemon:recovered"
  messages: string[]
}

/** An OpenRPC document. */
export interface Description {
  openrpc: string
  info: Record<string, unknown>
  methods: Record<string, unknown>[]
  components: Record<string, unknown>
  [field: string]: unknown
}

/** In bytes. */
export interface DiskUse {
  journals: number
  kept: number
  backups: number
  setAside: number
}

/** Nothing but that it is done. */
export interface Empty {
}

export type Event = SessionUpdated | SessionBudget | CompactionStart | CompactionComplete | CompactionError | MigrationDone | MigrationError | GitChanged | DaemonDegraded | DaemonRecovered | EventsLost

export type EventType = "session:updated" | "session:compaction-start" | "session:compaction-complete" | "session:compaction-error" | "session:budget" | "migration:done" | "migration:error" | "git:changed" | "daemon:degraded" | "daemon:recovered" | "events:lost"

/**
 * You read too slowly: what you asked for of the events `from` to `to` is missing. It comes whatever `types` you
 * asked for, and its `seq` is that of the last one lost.
 */
export interface EventsLost {
  seq: number
  at: string
  project: string | null
  featureId: string | null
  sessionId: string | null
  taskId?: string
  subscription: string
  from: number
  to: number
  type: "events:lost"
}

/** A job that failed; `retryIn` seconds it is tried again, null if only when it is asked for. */
export interface Failing {
  id: string
  message: string
  path: string
  hint: string
  since: string
  key: string
  name: string
  tries: number
  retryIn: number | null
}

/** A feature's document, where it is, and how far its tasks are; `error` where it cannot be read. */
export interface Feature {
  id: string
  project: string
  worktree: string
  name?: string
  status?: string
  branchName?: string
  description?: string
  sessionId?: string | null
  dagSummary?: string | null
  error?: string
  [field: string]: unknown
}

/** `stage` is what its status comes to; `x` and `y` are where `layout.json` has it. */
export interface FeatureTask {
  id: string
  title: string
  status: unknown
  stage: "complete" | "in progress" | "pending"
  dependencies: string[]
  x?: number
  y?: number
  [field: string]: unknown
}

export interface Features {
  features: Feature[]
}

/**
 * Conversations of other agents: `progress` while old ones are taken in; how many are `elsewhere`, in no project
 * of ours; which files are `refused`.
 */
export interface FollowedAgents {
  agents: KeptAgent[]
  progress: IntakeProgress | null
  elsewhere: number
  refused: RefusedTranscript[]
}

/** A commit, checkout, merge or rebase in a worktree; a rebase is one. */
export interface GitChanged {
  seq: number
  at: string
  project: string | null
  featureId: string | null
  sessionId: string | null
  taskId?: string
  subscription: string
  type: "git:changed"
  worktree: string
  branch: string | null
  commit: string | null
}

export type Health = "ok" | "degraded" | "stopping"

/** `more`: there are earlier ones; ask for them with `before` and the id of the first message here. */
export interface History {
  messages: Message[]
  more: boolean
}

export interface Hit {
  sessionId: string
  messageId: string
  role: string
  timestamp: string | null
  snippet: string
}

export interface Hits {
  hits: Hit[]
}

export interface IntakeProgress {
  files: number
  bytes: number
  filesDone: number
  bytesDone: number
}

export interface KeptAgent {
  name: string
  title: string
  conversations: number
  bytes: number
}

export interface LeavingMessage {
  id: string
  role: string
}

export interface Memory {
  resident: number
  threads: number
  descriptors: number
}

/** `content` is a text; content blocks that came in its place are in `metadata.content`. */
export interface Message {
  id: string
  role: string
  content: string
  timestamp?: string | null
  metadata?: Record<string, unknown> | null
  [field: string]: unknown
}

/**
 * `total` is how many are in chat; `more` is there, and true, where not all that was asked for fits into a line.
 */
export interface Messages {
  messages: Message[]
  total: number
  more?: boolean
}

/** A file of an older format, and what would be done with it, or was. */
export interface MigratedFile {
  path: string
  format: string | null
  sessionId: string | null
  messages: number
  rejected: RejectedEntry[]
  action: MigrationAction
  added?: number
  error?: string
  hint?: string
  note?: string
}

export interface MigratedFiles {
  files: MigratedFile[]
}

export type MigrationAction = "create" | "add" | "rewrite" | "none" | "barred" | "refused" | "paused" | "failed" | "rolledBack" | "kept"

/** A file of an older format became a session, or a part of one. */
export interface MigrationDone {
  seq: number
  at: string
  project: string | null
  featureId: string | null
  sessionId: string | null
  taskId?: string
  subscription: string
  path: string
  format: string | null
  messages: number
  rejected: number
  action: MigrationAction
  added?: number
  error?: string
  type: "migration:done"
}

/** A file of an older format could not become a session. */
export interface MigrationError {
  seq: number
  at: string
  project: string | null
  featureId: string | null
  sessionId: string | null
  taskId?: string
  subscription: string
  path: string
  format: string | null
  messages: number
  rejected: number
  action: MigrationAction
  added?: number
  error?: string
  type: "migration:error"
}

/** A message to be added; without `id` it gets one. */
export interface NewMessage {
  role: "user" | "assistant" | "system"
  content: unknown
  metadata?: Record<string, unknown> | null
  id?: string | null
}

/** Empty where there is nothing to say. */
export interface Opening {
  text: string
}

/** `until` is null where only `resume` ends it. */
export interface Pause {
  since: string
  until: string | null
}

export interface Paused {
  paused: Pause
}

export interface Pinned {
  pinned: boolean
}

export interface PreviewedRequest {
  userPrompt: string
  totalTokens: number
  systemPrompt?: string
  preamble?: string
  messages?: RequestMessage[]
  overLimit?: boolean
  parts?: RequestPart[]
  breakdown: Breakdown
}

/** Something that is wrong: since when, where, and what to do about it. */
export interface Problem {
  id: string
  message: string
  path: string
  hint: string
  since: string
}

export interface Project {
  root: string
  readOnly: boolean
  worktrees: string[]
  paused: Pause | null
  pausedSessions: string[]
}

export interface Projects {
  projects: Project[]
}

/**
 * An item as it would be, or as it was if it leaves; `before` where there was another one in its place.
 */
export interface ProposedItem {
  id: string
  list: string
  text: string
  sources: string[]
  quote?: string
  before?: Record<string, unknown>
}

export interface Queues {
  waiting: Waiting[]
  running: Running[]
  failing: Failing[]
  done: number
}

export interface Recalled {
  remembered: Remembered[]
}

export interface RefusedTranscript {
  path: string
  reason: string
}

export interface RejectedEntry {
  index: number
  reason: string
}

/**
 * A user's decision, or an agent's note. It is for its feature, else for its worktree, else for the project.
 */
export interface Remembered {
  id: string
  at: string
  by: string
  text: string
  featureId?: string
  worktree?: string
  sessionId?: string
  confirms?: string
  [field: string]: unknown
}

/** One turn as the Messages API takes it. */
export interface RequestMessage {
  role: "user" | "assistant"
  content: unknown
}

export interface RequestPart {
  part: string
  tokens: number
}

/** `ended` is false where there was no pause; `paused` is what still holds, the pause of the project. */
export interface Resumed {
  ended: boolean
  paused: SessionPause | null
}

export interface Running {
  key: string
  name: string
}

export interface Scan {
  sessions: ScannedSession[]
  problems: Problem[]
}

/** `done` says what was done for it, null if nothing was to be done. */
export interface ScannedSession {
  sessionId: string
  worktree: string
  status: string | null
  messages: number
  done: string | null
  problems: Problem[]
}

export interface ServedProject {
  root: string
  readOnly: boolean
  worktrees: string[]
  paused: Pause | null
  pausedSessions: string[]
  disk: DiskUse
}

/**
 * A session: its document, and where it is. What another program left out is missing here too. `worktree` is null
 * and `gone` true where its worktree is gone.
 */
export interface Session {
  id: string
  project: string
  worktree: string | null
  type?: string
  agentType?: string
  featureId?: string | null
  taskId?: string | null
  taskState?: string | null
  status?: string
  createdAt?: string
  updatedAt?: string
  files?: Record<string, unknown>
  stats?: Stats
  gone?: boolean
  paused?: SessionPause
  [field: string]: unknown
}

/** A session reached 75, 85 or 90 % of its budget: once on the way up, for each level. */
export interface SessionBudget {
  seq: number
  at: string
  project: string | null
  featureId: string | null
  sessionId: string | null
  taskId?: string
  subscription: string
  type: "session:budget"
  level: number
  share: number
  limit: number
  tokens: number
  parts: RequestPart[]
}

/** `of` says whose pause it is. */
export interface SessionPause {
  since: string
  until: string | null
  of: "project" | "session"
}

export type SessionStatus = "active" | "idle" | "archived" | "gone"

/**
 * A session in a list. One that cannot be read has `error` and `hint`; one whose worktree is gone has `kept`, the
 * file it is in. `compacting` says since when that is under way. A conversation of another agent has the `type`
 * `followed`, and `agent` to `transcript`: `messages` since the agent's last compaction, of `total`; `tokens` that
 * the agent last sent; `size` in bytes; whether the agent still has its `transcript`. `project` is null where its
 * folder is in none.
 */
export interface SessionSummary {
  id: string
  project: string | null
  worktree: string | null
  featureId?: string | null
  type?: string
  agentType?: string
  taskId?: string | null
  taskState?: string | null
  status?: string
  createdAt?: string
  updatedAt?: string
  stats?: Stats
  tokens?: number | null
  agent?: string
  title?: string | null
  model?: string | null
  branch?: string | null
  startedAt?: string | null
  lastActiveAt?: string | null
  messages?: number
  total?: number
  size?: number
  transcript?: "present" | "deleted"
  budget?: Budget
  paused?: SessionPause
  compacting?: string
  restored?: Record<string, unknown>
  kept?: string
  daysLeft?: number | null
  error?: string
  hint?: string
}

export type SessionType = "feature" | "task"

/** A session changed. Pausing a whole project is one event whose `sessionId` is null. */
export interface SessionUpdated {
  seq: number
  at: string
  project: string | null
  featureId: string | null
  sessionId: string | null
  taskId?: string
  subscription: string
  type: "session:updated"
  action: UpdateAction
  messageIds?: string[]
  total?: number
  messages?: number
  version?: number
  pinned?: boolean
  itemId?: string
  messageId?: string
  until?: string | null
}

export interface Sessions {
  sessions: SessionSummary[]
}

/** When they were last read again, and which wait for a restart. */
export interface SettingsState {
  readAt: string | null
  restart: string[]
}

/** Of the last day, beside what it may come to; `cost` in dollars. */
export interface Spend {
  calls: number
  tokens: number
  cost: number
  maxCallsPerHour: number
  maxTokensPerDay: number
}

/** `totalMessages` counts what was ever said. */
export interface Stats {
  totalMessages?: number
  totalTokens?: number
  totalCompactions?: number
  lastCompactionAt?: string | null
  [field: string]: unknown
}

/** How the daemon is. */
export interface Status {
  pid: number
  health: Health
  version: string
  protocol: number
  uptime: number
  projects: ServedProject[]
  queues: Queues
  compacting: UnderWay[]
  watches: Watches
  spend: Spend
  problems: Problem[]
  memory: Memory | null
  agents: FollowedAgents
  connections: number
  settings: SettingsState
}

/** `seq` is of the last event before it. Not `continuous`: some of what came after `since` is missing. */
export interface Subscription {
  subscription: string
  seq: number
  continuous: boolean
}

export type TaskState = "planning" | "in_dev" | "dev_complete" | "in_qa" | "qa_complete" | "ready_for_merge" | "merged"

/** A compaction that goes on just now. */
export interface UnderWay {
  sessionId: string
  project: string
  worktree: string
  since: string
}

export interface Undone {
  messagesRestored: number
  checkpointVersion: number
}

export type UpdateAction = "created" | "message_added" | "compacted" | "undone" | "archived" | "cleared" | "context" | "checkpoint" | "agent_description" | "pinned" | "paused" | "resumed" | "restored"

export interface Usage {
  by: "day" | "model" | "worktree" | "session" | "agent"
  rows: UsageRow[]
  total: UsageRow
}

/**
 * `input` is what was neither read from nor written to a cache, `reasoning` a part of `output`; `cost` in dollars,
 * null where no agent said one.
 */
export interface UsageRow {
  name: string
  answers: number
  input: number
  output: number
  cacheRead: number
  cacheWrite: number
  reasoning: number
  cost: number | null
}

export interface Waiting {
  key: string
  waiting: string[]
}

export interface Watches {
  mode: string
  count: number
  polled: number
  incidents: Record<string, unknown>[]
  everySeconds: number
}

export interface WholeFeature {
  id: string
  project: string
  worktree: string
  name?: string
  status?: string
  branchName?: string
  description?: string
  sessionId?: string | null
  dagSummary?: string | null
  error?: string
  tasks: FeatureTask[]
  [field: string]: unknown
}
