// Generated from `rpc.discover` by `python -m clients.generate`: do not edit.
import type { Connection } from "./connection.js"
import type * as types from "./types.js"

export class DaemonMethods {
  constructor(private readonly connection: Connection) {}

  /** Answers at once. */
  ping(): Promise<types.Empty> {
    return this.connection.call<types.Empty>("daemon.ping", {})
  }

  /** The state of the daemon: what is served, what is queued, what is wrong. */
  status(): Promise<types.Status> {
    return this.connection.call<types.Status>("daemon.status", {})
  }

  /** Finish what is under way, then end. */
  shutdown(): Promise<types.Empty> {
    return this.connection.call<types.Empty>("daemon.shutdown", {})
  }
}

export class ProjectMethods {
  constructor(private readonly connection: Connection) {}

  /** The projects that are served. */
  list(): Promise<types.Projects> {
    return this.connection.call<types.Projects>("project.list", {})
  }

  /** Look at every session of a project now, and report what was done. */
  scan(params: { project: string }): Promise<types.Scan> {
    return this.connection.call<types.Scan>("project.scan", params)
  }

  /**
   * Do nothing by itself for a project, for `seconds` or until it is resumed: no migration, new context, compaction
   * or archive. What others write is still taken in, and what is asked for is done.
   */
  pause(params: { project: string; seconds?: number | null }): Promise<types.Paused> {
    return this.connection.call<types.Paused>("project.pause", params)
  }

  /**
   * End the pause of a project; what is due is done now. Sessions that were paused by themselves stay so.
   */
  resume(params: { project: string }): Promise<types.Resumed> {
    return this.connection.call<types.Resumed>("project.resume", params)
  }
}

export class FeatureMethods {
  constructor(private readonly connection: Connection) {}

  /** The features, each with a summary of its tasks. */
  list(params: { project?: string | null } = {}): Promise<types.Features> {
    return this.connection.call<types.Features>("feature.list", params)
  }

  /** One feature: its document, a summary of its tasks, and each of them with what it depends on. */
  get(params: { featureId: string; project?: string | null; worktree?: string | null }): Promise<types.WholeFeature> {
    return this.connection.call<types.WholeFeature>("feature.get", params)
  }

  /**
   * Make a feature in the worktree of its name, `.dagent-worktrees/FEATURE`, which must be there: its `.dagent` with
   * a feature.json.
   */
  create(params: { project: string; featureId: string; name?: string | null; description?: string | null }): Promise<types.Feature> {
    return this.connection.call<types.Feature>("feature.create", params)
  }
}

export class SessionMethods {
  constructor(private readonly connection: Connection) {}

  /**
   * Summaries of sessions, with tokens and share of the budget; `compacting` says since when that is under way.
   * `gone` as `status` lists those without a worktree; `closed` are folders that may not be looked into.
   * Conversations of other agents follow, the last active first; `agent`, `since` and `parent` list only such.
   */
  list(params: { project?: string | null; featureId?: string | null; status?: types.SessionStatus | null; agent?: string | null; worktree?: string | null; since?: string | null; parent?: string | null; limit?: number | null } = {}): Promise<types.Sessions> {
    return this.connection.call<types.Sessions>("session.list", params)
  }

  /** The session of a feature or of a task's state, made and linked if there is none. */
  getOrCreate(params: { project: string; type: types.SessionType; agentType: types.AgentType; featureId: string; taskId?: string | null; taskState?: types.TaskState | null; worktree?: string | null }): Promise<types.Session> {
    return this.connection.call<types.Session>("session.getOrCreate", params)
  }

  /**
   * A session: its document, its project and its worktree; how many messages are in chat, its size beside the
   * budget, what is wrong with it, and whether it is paused, compacted just now, or gone with its worktree.
   */
  get(params: { sessionId: string; project?: string | null; worktree?: string | null; featureId?: string | null }): Promise<types.Session> {
    return this.connection.call<types.Session>("session.get", params)
  }

  /** Add a message; answered when it is on disk. The same `id` and content twice is stored once. */
  addMessage(params: { sessionId: string; role: "user" | "assistant" | "system"; content: unknown; project?: string | null; worktree?: string | null; featureId?: string | null; metadata?: Record<string, unknown> | null; id?: string | null }): Promise<types.Message> {
    return this.connection.call<types.Message>("session.addMessage", params)
  }

  /** Add several messages, all or none: a tool call stays with its result. */
  addMessages(params: { sessionId: string; messages: types.NewMessage[]; project?: string | null; worktree?: string | null; featureId?: string | null }): Promise<types.AddedMessages> {
    return this.connection.call<types.AddedMessages>("session.addMessages", params)
  }

  /** The last messages in chat, and how many there are. */
  getMessages(params: { sessionId: string; project?: string | null; worktree?: string | null; featureId?: string | null; limit?: number; includeInternal?: boolean }): Promise<types.Messages> {
    return this.connection.call<types.Messages>("session.getMessages", params)
  }

  /** Every message dagentd ever saw, in order, up to the one before `before`. */
  getHistory(params: { sessionId: string; project?: string | null; worktree?: string | null; featureId?: string | null; before?: string | null; limit?: number }): Promise<types.History> {
    return this.connection.call<types.History>("session.getHistory", params)
  }

  /**
   * Messages with all words of `query`, best first: every message ever seen, found by what it says now. Words in
   * quotes stand side by side; in the one-line `snippet` each match is in «guillemets». `unread` are sessions that
   * could not be searched. Conversations of other agents are searched too. `redacted` leaves secrets out of the
   * snippets.
   */
  search(params: { query: string; sessionId?: string | null; project?: string | null; limit?: number; redacted?: boolean }): Promise<types.Hits> {
    return this.connection.call<types.Hits>("session.search", params)
  }

  /** All messages leave chat; they stay in history, and the checkpoint stays. */
  clearMessages(params: { sessionId: string; project?: string | null; worktree?: string | null; featureId?: string | null }): Promise<types.Cleared> {
    return this.connection.call<types.Cleared>("session.clearMessages", params)
  }

  /** The checkpoint, null if there is none. */
  getCheckpoint(params: { sessionId: string; project?: string | null; worktree?: string | null; featureId?: string | null }): Promise<types.Checkpoint | null> {
    return this.connection.call<types.Checkpoint | null>("session.getCheckpoint", params)
  }

  /** Set fields of the checkpoint, and lists of its summary; those not named stay. Its version rises. */
  updateCheckpoint(params: { sessionId: string; checkpoint: Record<string, unknown>; project?: string | null; worktree?: string | null; featureId?: string | null }): Promise<types.Checkpoint> {
    return this.connection.call<types.Checkpoint>("session.updateCheckpoint", params)
  }

  /** The context as it is now, null if there is none. */
  getContext(params: { sessionId: string; project?: string | null; worktree?: string | null; featureId?: string | null }): Promise<types.Context | null> {
    return this.connection.call<types.Context | null>("session.getContext", params)
  }

  /** Make the context anew from the worktree and the feature as they are now, and answer it. */
  rebuildContext(params: { sessionId: string; project?: string | null; worktree?: string | null; featureId?: string | null }): Promise<types.Context | null> {
    return this.connection.call<types.Context | null>("session.rebuildContext", params)
  }

  /**
   * Replace the context. What dagentd knows better is put right at the next change; fields of yours stay.
   */
  updateContext(params: { sessionId: string; context: types.Context; project?: string | null; worktree?: string | null; featureId?: string | null }): Promise<types.Context> {
    return this.connection.call<types.Context>("session.updateContext", params)
  }

  /** The agent description, null if there is none. */
  getAgentDescription(params: { sessionId: string; project?: string | null; worktree?: string | null; featureId?: string | null }): Promise<types.AgentDescription | null> {
    return this.connection.call<types.AgentDescription | null>("session.getAgentDescription", params)
  }

  /** Replace the agent description. */
  setAgentDescription(params: { sessionId: string; agentDescription: types.AgentDescription; project?: string | null; worktree?: string | null; featureId?: string | null }): Promise<types.AgentDescription> {
    return this.connection.call<types.AgentDescription>("session.setAgentDescription", params)
  }

  /**
   * The request to send to a model, with the user's message; what would be over the limit is compacted first. What
   * is over it all the same says so in `overLimit`, with its `parts`; with `strict` it is an error. `form` spares
   * one of two copies of the conversation: `system` has it in `systemPrompt` alone, `messages` beside a `preamble`.
   */
  buildRequest(params: { sessionId: string; project?: string | null; worktree?: string | null; featureId?: string | null; userMessage?: string; form?: "system" | "messages" | "both"; strict?: boolean }): Promise<types.BuiltRequest> {
    return this.connection.call<types.BuiltRequest>("session.buildRequest", params)
  }

  /** The same as buildRequest, with what each part costs. */
  previewRequest(params: { sessionId: string; project?: string | null; worktree?: string | null; featureId?: string | null; userMessage?: string }): Promise<types.PreviewedRequest> {
    return this.connection.call<types.PreviewedRequest>("session.previewRequest", params)
  }

  /** Let an item stay in the checkpoint, or a message in chat, until it is unpinned. */
  pin(params: { sessionId: string; project?: string | null; worktree?: string | null; featureId?: string | null; itemId?: string | null; messageId?: string | null; pinned?: boolean }): Promise<types.Pinned> {
    return this.connection.call<types.Pinned>("session.pin", params)
  }

  /** Propose a compaction, with an id and a diff; nothing is changed. */
  previewCompaction(params: { sessionId: string; project?: string | null; worktree?: string | null; featureId?: string | null }): Promise<types.CompactionProposal> {
    return this.connection.call<types.CompactionProposal>("session.previewCompaction", params)
  }

  /**
   * Compact now: what `proposalId` proposed, or what comes of it now. `again` does from history what was compacted
   * without a model.
   */
  forceCompact(params: { sessionId: string; project?: string | null; worktree?: string | null; featureId?: string | null; proposalId?: string | null; again?: boolean }): Promise<types.Compacted> {
    return this.connection.call<types.Compacted>("session.forceCompact", params)
  }

  /** Take the last compaction back that is not undone yet: its messages and the checkpoint before it. */
  undoCompaction(params: { sessionId: string; project?: string | null; worktree?: string | null; featureId?: string | null }): Promise<types.Undone> {
    return this.connection.call<types.Undone>("session.undoCompaction", params)
  }

  /**
   * The compactions of a session in order, each with what left chat by it and how the checkpoint changed.
   */
  getCompactions(params: { sessionId: string; project?: string | null; worktree?: string | null; featureId?: string | null }): Promise<types.Compactions> {
    return this.connection.call<types.Compactions>("session.getCompactions", params)
  }

  /** The figures of a session's compactions so far. */
  getCompactionMetrics(params: { sessionId: string; project?: string | null; worktree?: string | null; featureId?: string | null }): Promise<types.CompactionMetrics> {
    return this.connection.call<types.CompactionMetrics>("session.getCompactionMetrics", params)
  }

  /**
   * Give a session the status `archived`; it can still be read. With `archived` false it is active again.
   */
  archive(params: { sessionId: string; project?: string | null; worktree?: string | null; featureId?: string | null; archived?: boolean }): Promise<types.Session> {
    return this.connection.call<types.Session>("session.archive", params)
  }

  /**
   * Bring a session whose worktree is gone back, into its feature or into `featureId`; its messages come with it.
   */
  restore(params: { sessionId: string; project?: string | null; worktree?: string | null; featureId?: string | null }): Promise<types.Session> {
    return this.connection.call<types.Session>("session.restore", params)
  }

  /**
   * A hand-over in Markdown of at most `tokens` tokens: the goal, orders and decisions with quotes, what is done,
   * open and failing, the files, the last exchange, how to go on. Secrets are left out.
   */
  brief(params: { sessionId?: string | null; project?: string | null; worktree?: string | null; tokens?: number } = {}): Promise<types.Brief> {
    return this.connection.call<types.Brief>("session.brief", params)
  }

  /** The same for one session alone. */
  pause(params: { sessionId: string; project?: string | null; seconds?: number | null }): Promise<types.Paused> {
    return this.connection.call<types.Paused>("session.pause", params)
  }

  /** End the pause of a session; `paused` says whether its project still is. */
  resume(params: { sessionId: string; project?: string | null }): Promise<types.Resumed> {
    return this.connection.call<types.Resumed>("session.resume", params)
  }
}

export class MigrationMethods {
  constructor(private readonly connection: Connection) {}

  /** Say what would be done with each file of an older format; nothing is written. */
  plan(params: { project?: string | null; path?: string | null } = {}): Promise<types.MigratedFiles> {
    return this.connection.call<types.MigratedFiles>("migration.plan", params)
  }

  /** Make sessions of files of older formats now, also of those that were taken back before. */
  run(params: { project?: string | null; path?: string | null } = {}): Promise<types.MigratedFiles> {
    return this.connection.call<types.MigratedFiles>("migration.run", params)
  }

  /** Take migrations back: what was imported leaves, and what nobody used since is as it was before. */
  rollback(params: { project?: string | null; path?: string | null } = {}): Promise<types.MigratedFiles> {
    return this.connection.call<types.MigratedFiles>("migration.rollback", params)
  }
}

export class MemoryMethods {
  constructor(private readonly connection: Connection) {}

  /**
   * Remember a decision of the user's, or note something for the worktree; with `confirms`, make a decision of a
   * note. Contexts, requests and agents are told.
   */
  add(params: { project: string; text?: string | null; confirms?: string | null; by?: "user" | "agent"; featureId?: string | null; worktree?: string | null; sessionId?: string | null }): Promise<types.Remembered> {
    return this.connection.call<types.Remembered>("memory.add", params)
  }

  /** The memory of a project, the oldest first: all, or what somebody at work in a worktree is told. */
  list(params: { project: string; worktree?: string | null; by?: "user" | "agent" | null }): Promise<types.Recalled> {
    return this.connection.call<types.Recalled>("memory.list", params)
  }

  /** Tell nobody of it any more; its line stays in the file. An agent can withdraw notes alone. */
  withdraw(params: { project: string; id: string; by?: "user" | "agent" }): Promise<types.Remembered> {
    return this.connection.call<types.Remembered>("memory.withdraw", params)
  }
}

export class AgxMethods {
  constructor(private readonly connection: Connection) {}

  /** AGX sessions as the global index has them: of one project, or of all that are in it. */
  list(params: { project?: string | null; state?: types.AgxState | null } = {}): Promise<types.AgxEntries> {
    return this.connection.call<types.AgxEntries>("agx.list", params)
  }

  /** The document of an AGX session; without `sessionId` of the current one of `project`. */
  get(params: { sessionId?: string | null; project?: string | null } = {}): Promise<types.AgxSession> {
    return this.connection.call<types.AgxSession>("agx.get", params)
  }

  /** Make an AGX session, under a name or for the branch that is checked out, and switch to it. */
  new(params: { project: string; name?: string | null; description?: string; tags?: string[] }): Promise<types.AgxSession> {
    return this.connection.call<types.AgxSession>("agx.new", params)
  }

  /** Make an AGX session the current one of its project. */
  switch(params: { sessionId: string; project?: string | null }): Promise<types.AgxSession> {
    return this.connection.call<types.AgxSession>("agx.switch", params)
  }

  /** Archive an AGX session; it stays where it is, beside a backup. */
  archive(params: { sessionId: string; project?: string | null }): Promise<types.AgxSession> {
    return this.connection.call<types.AgxSession>("agx.archive", params)
  }

  /** Say that what an AGX session was for is done; to switch to it goes on with it. */
  complete(params: { sessionId: string; project?: string | null }): Promise<types.AgxSession> {
    return this.connection.call<types.AgxSession>("agx.complete", params)
  }

  /**
   * Bring an AGX session back: from the archive, from the trash, or from a backup where its file is damaged.
   */
  restore(params: { sessionId: string; project?: string | null }): Promise<types.AgxSession> {
    return this.connection.call<types.AgxSession>("agx.restore", params)
  }

  /**
   * Note the Claude session that an AGX session goes on with; without `sessionId` in the current one of `project`.
   */
  claude(params: { claudeSessionId: string; sessionId?: string | null; project?: string | null }): Promise<types.AgxSession> {
    return this.connection.call<types.AgxSession>("agx.claude", params)
  }

  /**
   * Archive what has not been used for long, remove to the trash what was archived for as long, or what is named;
   * with `dryRun` only say so.
   */
  cleanup(params: { project: string; sessionIds?: string[]; dryRun?: boolean }): Promise<types.CleanupSteps> {
    return this.connection.call<types.CleanupSteps>("agx.cleanup", params)
  }

  /** Check the global index now, or make all of it anew; what it says beside its sessions. */
  index(params: { rebuild?: boolean } = {}): Promise<types.AgxIndex> {
    return this.connection.call<types.AgxIndex>("agx.index", params)
  }
}

export class EventsMethods {
  constructor(private readonly connection: Connection) {}

  /** Events from now on, or from `since`, as notifications `event`. */
  subscribe(params: { types?: types.EventType[] | null; project?: string | null; sessionId?: string | null; since?: number | null } = {}): Promise<types.Subscription> {
    return this.connection.call<types.Subscription>("events.subscribe", params)
  }

  /** No more events for this subscription. */
  unsubscribe(params: { subscription: string }): Promise<types.Empty> {
    return this.connection.call<types.Empty>("events.unsubscribe", params)
  }
}

export class UsageMethods {
  constructor(private readonly connection: Connection) {}

  /**
   * Tokens that agents took, in and out, read from caches and written to them, by `day`, `model`, `worktree`,
   * `session` or `agent`; one answer counts once, in whatever files it is. `cost` is what the agents say, in
   * dollars.
   */
  report(params: { by?: "day" | "model" | "worktree" | "session" | "agent"; project?: string | null; since?: string | null } = {}): Promise<types.Usage> {
    return this.connection.call<types.Usage>("usage.report", params)
  }
}

export class AgentsMethods {
  constructor(private readonly connection: Connection) {}

  /**
   * The agents whose conversations can be followed: whether they are, where theirs are, how many are kept and how
   * large these are, and what is refused.
   */
  list(): Promise<types.Agents> {
    return this.connection.call<types.Agents>("agents.list", {})
  }

  /**
   * The text for an agent that begins or goes on in a folder: what dagentd has for its context, in at most
   * `agents.context_chars` characters; empty where that is nothing, or where the folder is in no served project.
   */
  sessionStart(params: { agent: "claude-code" | "codex"; sessionId: string; cwd: string; source: "startup" | "resume" | "clear" | "compact" | "fork"; transcriptPath?: string | null }): Promise<types.Opening> {
    return this.connection.call<types.Opening>("agents.sessionStart", params)
  }
}

export class RpcMethods {
  constructor(private readonly connection: Connection) {}

  /** This description, made from the table of methods. */
  discover(): Promise<types.Description> {
    return this.connection.call<types.Description>("rpc.discover", {})
  }
}

/** By namespace: `session.getOrCreate` is `session.getOrCreate({…})`. */
export class Methods {
  readonly daemon: DaemonMethods
  readonly project: ProjectMethods
  readonly feature: FeatureMethods
  readonly session: SessionMethods
  readonly migration: MigrationMethods
  readonly memory: MemoryMethods
  readonly agx: AgxMethods
  readonly events: EventsMethods
  readonly usage: UsageMethods
  readonly agents: AgentsMethods
  readonly rpc: RpcMethods

  constructor(connection: Connection) {
    this.daemon = new DaemonMethods(connection)
    this.project = new ProjectMethods(connection)
    this.feature = new FeatureMethods(connection)
    this.session = new SessionMethods(connection)
    this.migration = new MigrationMethods(connection)
    this.memory = new MemoryMethods(connection)
    this.agx = new AgxMethods(connection)
    this.events = new EventsMethods(connection)
    this.usage = new UsageMethods(connection)
    this.agents = new AgentsMethods(connection)
    this.rpc = new RpcMethods(connection)
  }
}
