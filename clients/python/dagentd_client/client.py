"""Every method of the daemon, by its name.

Generated from `rpc.discover` by `python -m clients.generate`: do not edit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, cast

from dagentd_client import types as shapes
from dagentd_client.connection import Connection


class DaemonMethods:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def ping(self) -> shapes.Empty:
        """Answers at once."""
        return cast("shapes.Empty", self._connection.call("daemon.ping", {}))

    def status(self) -> shapes.Status:
        """The state of the daemon: what is served, what is queued, what is wrong."""
        return cast("shapes.Status", self._connection.call("daemon.status", {}))

    def shutdown(self) -> shapes.Empty:
        """Finish what is under way, then end."""
        return cast("shapes.Empty", self._connection.call("daemon.shutdown", {}))


class ProjectMethods:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list(self) -> shapes.Projects:
        """The projects that are served."""
        return cast("shapes.Projects", self._connection.call("project.list", {}))

    def scan(self, project: str) -> shapes.Scan:
        """Look at every session of a project now, and report what was done."""
        return cast("shapes.Scan", self._connection.call("project.scan", {"project": project}))

    def pause(self, project: str, *, seconds: int | None = None) -> shapes.Paused:
        """Do nothing by itself for a project, for `seconds` or until it is resumed: no migration, new context,
        compaction or archive. What others write is still taken in, and what is asked for is done."""
        return cast("shapes.Paused", self._connection.call("project.pause", {"project": project, "seconds": seconds}))

    def resume(self, project: str) -> shapes.Resumed:
        """End the pause of a project; what is due is done now. Sessions that were paused by themselves stay so."""
        return cast("shapes.Resumed", self._connection.call("project.resume", {"project": project}))


class FeatureMethods:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list(self, *, project: str | None = None) -> shapes.Features:
        """The features, each with a summary of its tasks."""
        return cast("shapes.Features", self._connection.call("feature.list", {"project": project}))

    def get(self, feature_id: str, *, project: str | None = None, worktree: str | None = None) -> shapes.WholeFeature:
        """One feature: its document, a summary of its tasks, and each of them with what it depends on."""
        return cast(
            "shapes.WholeFeature",
            self._connection.call("feature.get", {"featureId": feature_id, "project": project, "worktree": worktree}),
        )

    def create(
        self, project: str, feature_id: str, *, name: str | None = None, description: str | None = None
    ) -> shapes.Feature:
        """Make a feature in the worktree of its name, `.dagent-worktrees/FEATURE`, which must be there: its
        `.dagent` with a feature.json."""
        return cast(
            "shapes.Feature",
            self._connection.call(
                "feature.create",
                {"project": project, "featureId": feature_id, "name": name, "description": description},
            ),
        )


class SessionMethods:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list(
        self,
        *,
        project: str | None = None,
        feature_id: str | None = None,
        status: shapes.SessionStatus | None = None,
        agent: str | None = None,
        worktree: str | None = None,
        since: str | None = None,
        parent: str | None = None,
        limit: int | None = None,
    ) -> shapes.Sessions:
        """Summaries of sessions, with tokens and share of the budget; `compacting` says since when that is under
        way. `gone` as `status` lists those without a worktree; `closed` are folders that may not be looked
        into. Conversations of other agents follow, the last active first; `agent`, `since` and `parent` list
        only such."""
        return cast(
            "shapes.Sessions",
            self._connection.call(
                "session.list",
                {
                    "project": project,
                    "featureId": feature_id,
                    "status": status,
                    "agent": agent,
                    "worktree": worktree,
                    "since": since,
                    "parent": parent,
                    "limit": limit,
                },
            ),
        )

    def get_or_create(
        self,
        project: str,
        type: shapes.SessionType,
        agent_type: shapes.AgentType,
        feature_id: str,
        *,
        task_id: str | None = None,
        task_state: shapes.TaskState | None = None,
        worktree: str | None = None,
    ) -> shapes.Session:
        """The session of a feature or of a task's state, made and linked if there is none."""
        return cast(
            "shapes.Session",
            self._connection.call(
                "session.getOrCreate",
                {
                    "project": project,
                    "type": type,
                    "agentType": agent_type,
                    "featureId": feature_id,
                    "taskId": task_id,
                    "taskState": task_state,
                    "worktree": worktree,
                },
            ),
        )

    def get(
        self, session_id: str, *, project: str | None = None, worktree: str | None = None, feature_id: str | None = None
    ) -> shapes.Session:
        """A session: its document, its project and its worktree; how many messages are in chat, its size beside
        the budget, what is wrong with it, and whether it is paused, compacted just now, or gone with its
        worktree."""
        return cast(
            "shapes.Session",
            self._connection.call(
                "session.get",
                {"sessionId": session_id, "project": project, "worktree": worktree, "featureId": feature_id},
            ),
        )

    def add_message(
        self,
        session_id: str,
        role: Literal["user", "assistant", "system"],
        content: Any,
        *,
        project: str | None = None,
        worktree: str | None = None,
        feature_id: str | None = None,
        metadata: dict[str, Any] | None = None,
        id: str | None = None,
    ) -> shapes.Message:
        """Add a message; answered when it is on disk. The same `id` and content twice is stored once."""
        return cast(
            "shapes.Message",
            self._connection.call(
                "session.addMessage",
                {
                    "sessionId": session_id,
                    "role": role,
                    "content": content,
                    "project": project,
                    "worktree": worktree,
                    "featureId": feature_id,
                    "metadata": metadata,
                    "id": id,
                },
            ),
        )

    def add_messages(
        self,
        session_id: str,
        messages: Sequence[shapes.NewMessage],
        *,
        project: str | None = None,
        worktree: str | None = None,
        feature_id: str | None = None,
    ) -> shapes.AddedMessages:
        """Add several messages, all or none: a tool call stays with its result."""
        return cast(
            "shapes.AddedMessages",
            self._connection.call(
                "session.addMessages",
                {
                    "sessionId": session_id,
                    "messages": messages,
                    "project": project,
                    "worktree": worktree,
                    "featureId": feature_id,
                },
            ),
        )

    def get_messages(
        self,
        session_id: str,
        *,
        project: str | None = None,
        worktree: str | None = None,
        feature_id: str | None = None,
        limit: int = 10,
        include_internal: bool = False,
    ) -> shapes.Messages:
        """The last messages in chat, and how many there are."""
        return cast(
            "shapes.Messages",
            self._connection.call(
                "session.getMessages",
                {
                    "sessionId": session_id,
                    "project": project,
                    "worktree": worktree,
                    "featureId": feature_id,
                    "limit": limit,
                    "includeInternal": include_internal,
                },
            ),
        )

    def get_history(
        self,
        session_id: str,
        *,
        project: str | None = None,
        worktree: str | None = None,
        feature_id: str | None = None,
        before: str | None = None,
        limit: int = 100,
    ) -> shapes.History:
        """Every message dagentd ever saw, in order, up to the one before `before`."""
        return cast(
            "shapes.History",
            self._connection.call(
                "session.getHistory",
                {
                    "sessionId": session_id,
                    "project": project,
                    "worktree": worktree,
                    "featureId": feature_id,
                    "before": before,
                    "limit": limit,
                },
            ),
        )

    def search(
        self,
        query: str,
        *,
        session_id: str | None = None,
        project: str | None = None,
        limit: int = 20,
        redacted: bool = False,
    ) -> shapes.Hits:
        """Messages with all words of `query`, best first: every message ever seen, found by what it says now.
        Words in quotes stand side by side; in the one-line `snippet` each match is in «guillemets». `unread`
        are sessions that could not be searched. Conversations of other agents are searched too. `redacted`
        leaves secrets out of the snippets."""
        return cast(
            "shapes.Hits",
            self._connection.call(
                "session.search",
                {"query": query, "sessionId": session_id, "project": project, "limit": limit, "redacted": redacted},
            ),
        )

    def clear_messages(
        self, session_id: str, *, project: str | None = None, worktree: str | None = None, feature_id: str | None = None
    ) -> shapes.Cleared:
        """All messages leave chat; they stay in history, and the checkpoint stays."""
        return cast(
            "shapes.Cleared",
            self._connection.call(
                "session.clearMessages",
                {"sessionId": session_id, "project": project, "worktree": worktree, "featureId": feature_id},
            ),
        )

    def get_checkpoint(
        self, session_id: str, *, project: str | None = None, worktree: str | None = None, feature_id: str | None = None
    ) -> shapes.Checkpoint | None:
        """The checkpoint, null if there is none."""
        return cast(
            "shapes.Checkpoint | None",
            self._connection.call(
                "session.getCheckpoint",
                {"sessionId": session_id, "project": project, "worktree": worktree, "featureId": feature_id},
            ),
        )

    def update_checkpoint(
        self,
        session_id: str,
        checkpoint: dict[str, Any],
        *,
        project: str | None = None,
        worktree: str | None = None,
        feature_id: str | None = None,
    ) -> shapes.Checkpoint:
        """Set fields of the checkpoint, and lists of its summary; those not named stay. Its version rises."""
        return cast(
            "shapes.Checkpoint",
            self._connection.call(
                "session.updateCheckpoint",
                {
                    "sessionId": session_id,
                    "checkpoint": checkpoint,
                    "project": project,
                    "worktree": worktree,
                    "featureId": feature_id,
                },
            ),
        )

    def get_context(
        self, session_id: str, *, project: str | None = None, worktree: str | None = None, feature_id: str | None = None
    ) -> shapes.Context | None:
        """The context as it is now, null if there is none."""
        return cast(
            "shapes.Context | None",
            self._connection.call(
                "session.getContext",
                {"sessionId": session_id, "project": project, "worktree": worktree, "featureId": feature_id},
            ),
        )

    def rebuild_context(
        self, session_id: str, *, project: str | None = None, worktree: str | None = None, feature_id: str | None = None
    ) -> shapes.Context | None:
        """Make the context anew from the worktree and the feature as they are now, and answer it."""
        return cast(
            "shapes.Context | None",
            self._connection.call(
                "session.rebuildContext",
                {"sessionId": session_id, "project": project, "worktree": worktree, "featureId": feature_id},
            ),
        )

    def update_context(
        self,
        session_id: str,
        context: shapes.Context,
        *,
        project: str | None = None,
        worktree: str | None = None,
        feature_id: str | None = None,
    ) -> shapes.Context:
        """Replace the context. What dagentd knows better is put right at the next change; fields of yours stay."""
        return cast(
            "shapes.Context",
            self._connection.call(
                "session.updateContext",
                {
                    "sessionId": session_id,
                    "context": context,
                    "project": project,
                    "worktree": worktree,
                    "featureId": feature_id,
                },
            ),
        )

    def get_agent_description(
        self, session_id: str, *, project: str | None = None, worktree: str | None = None, feature_id: str | None = None
    ) -> shapes.AgentDescription | None:
        """The agent description, null if there is none."""
        return cast(
            "shapes.AgentDescription | None",
            self._connection.call(
                "session.getAgentDescription",
                {"sessionId": session_id, "project": project, "worktree": worktree, "featureId": feature_id},
            ),
        )

    def set_agent_description(
        self,
        session_id: str,
        agent_description: shapes.AgentDescription,
        *,
        project: str | None = None,
        worktree: str | None = None,
        feature_id: str | None = None,
    ) -> shapes.AgentDescription:
        """Replace the agent description."""
        return cast(
            "shapes.AgentDescription",
            self._connection.call(
                "session.setAgentDescription",
                {
                    "sessionId": session_id,
                    "agentDescription": agent_description,
                    "project": project,
                    "worktree": worktree,
                    "featureId": feature_id,
                },
            ),
        )

    def build_request(
        self,
        session_id: str,
        *,
        project: str | None = None,
        worktree: str | None = None,
        feature_id: str | None = None,
        user_message: str = "",
        form: Literal["system", "messages", "both"] = "both",
        strict: bool = False,
    ) -> shapes.BuiltRequest:
        """The request to send to a model, with the user's message; what would be over the limit is compacted
        first. What is over it all the same says so in `overLimit`, with its `parts`; with `strict` it is an
        error. `form` spares one of two copies of the conversation: `system` has it in `systemPrompt` alone,
        `messages` beside a `preamble`."""
        return cast(
            "shapes.BuiltRequest",
            self._connection.call(
                "session.buildRequest",
                {
                    "sessionId": session_id,
                    "project": project,
                    "worktree": worktree,
                    "featureId": feature_id,
                    "userMessage": user_message,
                    "form": form,
                    "strict": strict,
                },
            ),
        )

    def preview_request(
        self,
        session_id: str,
        *,
        project: str | None = None,
        worktree: str | None = None,
        feature_id: str | None = None,
        user_message: str = "",
    ) -> shapes.PreviewedRequest:
        """The same as buildRequest, with what each part costs."""
        return cast(
            "shapes.PreviewedRequest",
            self._connection.call(
                "session.previewRequest",
                {
                    "sessionId": session_id,
                    "project": project,
                    "worktree": worktree,
                    "featureId": feature_id,
                    "userMessage": user_message,
                },
            ),
        )

    def pin(
        self,
        session_id: str,
        *,
        project: str | None = None,
        worktree: str | None = None,
        feature_id: str | None = None,
        item_id: str | None = None,
        message_id: str | None = None,
        pinned: bool = True,
    ) -> shapes.Pinned:
        """Let an item stay in the checkpoint, or a message in chat, until it is unpinned."""
        return cast(
            "shapes.Pinned",
            self._connection.call(
                "session.pin",
                {
                    "sessionId": session_id,
                    "project": project,
                    "worktree": worktree,
                    "featureId": feature_id,
                    "itemId": item_id,
                    "messageId": message_id,
                    "pinned": pinned,
                },
            ),
        )

    def preview_compaction(
        self, session_id: str, *, project: str | None = None, worktree: str | None = None, feature_id: str | None = None
    ) -> shapes.CompactionProposal:
        """Propose a compaction, with an id and a diff; nothing is changed."""
        return cast(
            "shapes.CompactionProposal",
            self._connection.call(
                "session.previewCompaction",
                {"sessionId": session_id, "project": project, "worktree": worktree, "featureId": feature_id},
            ),
        )

    def force_compact(
        self,
        session_id: str,
        *,
        project: str | None = None,
        worktree: str | None = None,
        feature_id: str | None = None,
        proposal_id: str | None = None,
        again: bool = False,
    ) -> shapes.Compacted:
        """Compact now: what `proposalId` proposed, or what comes of it now. `again` does from history what was
        compacted without a model."""
        return cast(
            "shapes.Compacted",
            self._connection.call(
                "session.forceCompact",
                {
                    "sessionId": session_id,
                    "project": project,
                    "worktree": worktree,
                    "featureId": feature_id,
                    "proposalId": proposal_id,
                    "again": again,
                },
            ),
        )

    def undo_compaction(
        self, session_id: str, *, project: str | None = None, worktree: str | None = None, feature_id: str | None = None
    ) -> shapes.Undone:
        """Take the last compaction back that is not undone yet: its messages and the checkpoint before it."""
        return cast(
            "shapes.Undone",
            self._connection.call(
                "session.undoCompaction",
                {"sessionId": session_id, "project": project, "worktree": worktree, "featureId": feature_id},
            ),
        )

    def get_compactions(
        self, session_id: str, *, project: str | None = None, worktree: str | None = None, feature_id: str | None = None
    ) -> shapes.Compactions:
        """The compactions of a session in order, each with what left chat by it and how the checkpoint changed."""
        return cast(
            "shapes.Compactions",
            self._connection.call(
                "session.getCompactions",
                {"sessionId": session_id, "project": project, "worktree": worktree, "featureId": feature_id},
            ),
        )

    def get_compaction_metrics(
        self, session_id: str, *, project: str | None = None, worktree: str | None = None, feature_id: str | None = None
    ) -> shapes.CompactionMetrics:
        """The figures of a session's compactions so far."""
        return cast(
            "shapes.CompactionMetrics",
            self._connection.call(
                "session.getCompactionMetrics",
                {"sessionId": session_id, "project": project, "worktree": worktree, "featureId": feature_id},
            ),
        )

    def archive(
        self,
        session_id: str,
        *,
        project: str | None = None,
        worktree: str | None = None,
        feature_id: str | None = None,
        archived: bool = True,
    ) -> shapes.Session:
        """Give a session the status `archived`; it can still be read. With `archived` false it is active again."""
        return cast(
            "shapes.Session",
            self._connection.call(
                "session.archive",
                {
                    "sessionId": session_id,
                    "project": project,
                    "worktree": worktree,
                    "featureId": feature_id,
                    "archived": archived,
                },
            ),
        )

    def restore(
        self, session_id: str, *, project: str | None = None, worktree: str | None = None, feature_id: str | None = None
    ) -> shapes.Session:
        """Bring a session whose worktree is gone back, into its feature or into `featureId`; its messages come
        with it."""
        return cast(
            "shapes.Session",
            self._connection.call(
                "session.restore",
                {"sessionId": session_id, "project": project, "worktree": worktree, "featureId": feature_id},
            ),
        )

    def brief(
        self,
        *,
        session_id: str | None = None,
        project: str | None = None,
        worktree: str | None = None,
        tokens: int = 2000,
    ) -> shapes.Brief:
        """A hand-over in Markdown of at most `tokens` tokens: the goal, orders and decisions with quotes, what is
        done, open and failing, the files, the last exchange, how to go on. Secrets are left out."""
        return cast(
            "shapes.Brief",
            self._connection.call(
                "session.brief", {"sessionId": session_id, "project": project, "worktree": worktree, "tokens": tokens}
            ),
        )

    def pause(self, session_id: str, *, project: str | None = None, seconds: int | None = None) -> shapes.Paused:
        """The same for one session alone."""
        return cast(
            "shapes.Paused",
            self._connection.call("session.pause", {"sessionId": session_id, "project": project, "seconds": seconds}),
        )

    def resume(self, session_id: str, *, project: str | None = None) -> shapes.Resumed:
        """End the pause of a session; `paused` says whether its project still is."""
        return cast(
            "shapes.Resumed", self._connection.call("session.resume", {"sessionId": session_id, "project": project})
        )


class MigrationMethods:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def plan(self, *, project: str | None = None, path: str | None = None) -> shapes.MigratedFiles:
        """Say what would be done with each file of an older format; nothing is written."""
        return cast("shapes.MigratedFiles", self._connection.call("migration.plan", {"project": project, "path": path}))

    def run(self, *, project: str | None = None, path: str | None = None) -> shapes.MigratedFiles:
        """Make sessions of files of older formats now, also of those that were taken back before."""
        return cast("shapes.MigratedFiles", self._connection.call("migration.run", {"project": project, "path": path}))

    def rollback(self, *, project: str | None = None, path: str | None = None) -> shapes.MigratedFiles:
        """Take migrations back: what was imported leaves, and what nobody used since is as it was before."""
        return cast(
            "shapes.MigratedFiles", self._connection.call("migration.rollback", {"project": project, "path": path})
        )


class MemoryMethods:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(
        self,
        project: str,
        *,
        text: str | None = None,
        confirms: str | None = None,
        by: Literal["user", "agent"] = "agent",
        feature_id: str | None = None,
        worktree: str | None = None,
        session_id: str | None = None,
    ) -> shapes.Remembered:
        """Remember a decision of the user's, or note something for the worktree; with `confirms`, make a decision
        of a note. Contexts, requests and agents are told."""
        return cast(
            "shapes.Remembered",
            self._connection.call(
                "memory.add",
                {
                    "project": project,
                    "text": text,
                    "confirms": confirms,
                    "by": by,
                    "featureId": feature_id,
                    "worktree": worktree,
                    "sessionId": session_id,
                },
            ),
        )

    def list(
        self, project: str, *, worktree: str | None = None, by: Literal["user", "agent"] | None = None
    ) -> shapes.Recalled:
        """The memory of a project, the oldest first: all, or what somebody at work in a worktree is told."""
        return cast(
            "shapes.Recalled",
            self._connection.call("memory.list", {"project": project, "worktree": worktree, "by": by}),
        )

    def withdraw(self, project: str, id: str, *, by: Literal["user", "agent"] = "agent") -> shapes.Remembered:
        """Tell nobody of it any more; its line stays in the file. An agent can withdraw notes alone."""
        return cast(
            "shapes.Remembered", self._connection.call("memory.withdraw", {"project": project, "id": id, "by": by})
        )


class AgxMethods:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list(self, *, project: str | None = None, state: shapes.AgxState | None = None) -> shapes.AgxEntries:
        """AGX sessions as the global index has them: of one project, or of all that are in it."""
        return cast("shapes.AgxEntries", self._connection.call("agx.list", {"project": project, "state": state}))

    def get(self, *, session_id: str | None = None, project: str | None = None) -> shapes.AgxSession:
        """The document of an AGX session; without `sessionId` of the current one of `project`."""
        return cast(
            "shapes.AgxSession", self._connection.call("agx.get", {"sessionId": session_id, "project": project})
        )

    def new(
        self, project: str, *, name: str | None = None, description: str = "", tags: Sequence[str] | None = None
    ) -> shapes.AgxSession:
        """Make an AGX session, under a name or for the branch that is checked out, and switch to it."""
        return cast(
            "shapes.AgxSession",
            self._connection.call(
                "agx.new", {"project": project, "name": name, "description": description, "tags": tags}
            ),
        )

    def switch(self, session_id: str, *, project: str | None = None) -> shapes.AgxSession:
        """Make an AGX session the current one of its project."""
        return cast(
            "shapes.AgxSession", self._connection.call("agx.switch", {"sessionId": session_id, "project": project})
        )

    def archive(self, session_id: str, *, project: str | None = None) -> shapes.AgxSession:
        """Archive an AGX session; it stays where it is, beside a backup."""
        return cast(
            "shapes.AgxSession", self._connection.call("agx.archive", {"sessionId": session_id, "project": project})
        )

    def complete(self, session_id: str, *, project: str | None = None) -> shapes.AgxSession:
        """Say that what an AGX session was for is done; to switch to it goes on with it."""
        return cast(
            "shapes.AgxSession", self._connection.call("agx.complete", {"sessionId": session_id, "project": project})
        )

    def restore(self, session_id: str, *, project: str | None = None) -> shapes.AgxSession:
        """Bring an AGX session back: from the archive, from the trash, or from a backup where its file is
        damaged."""
        return cast(
            "shapes.AgxSession", self._connection.call("agx.restore", {"sessionId": session_id, "project": project})
        )

    def claude(
        self, claude_session_id: str, *, session_id: str | None = None, project: str | None = None
    ) -> shapes.AgxSession:
        """Note the Claude session that an AGX session goes on with; without `sessionId` in the current one of
        `project`."""
        return cast(
            "shapes.AgxSession",
            self._connection.call(
                "agx.claude", {"claudeSessionId": claude_session_id, "sessionId": session_id, "project": project}
            ),
        )

    def cleanup(
        self, project: str, *, session_ids: Sequence[str] | None = None, dry_run: bool = False
    ) -> shapes.CleanupSteps:
        """Archive what has not been used for long, remove to the trash what was archived for as long, or what is
        named; with `dryRun` only say so."""
        return cast(
            "shapes.CleanupSteps",
            self._connection.call("agx.cleanup", {"project": project, "sessionIds": session_ids, "dryRun": dry_run}),
        )

    def index(self, *, rebuild: bool = False) -> shapes.AgxIndex:
        """Check the global index now, or make all of it anew; what it says beside its sessions."""
        return cast("shapes.AgxIndex", self._connection.call("agx.index", {"rebuild": rebuild}))


class EventsMethods:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def subscribe(
        self,
        *,
        types: Sequence[shapes.EventType] | None = None,
        project: str | None = None,
        session_id: str | None = None,
        since: int | None = None,
    ) -> shapes.Subscription:
        """Events from now on, or from `since`, as notifications `event`."""
        return cast(
            "shapes.Subscription",
            self._connection.call(
                "events.subscribe", {"types": types, "project": project, "sessionId": session_id, "since": since}
            ),
        )

    def unsubscribe(self, subscription: str) -> shapes.Empty:
        """No more events for this subscription."""
        return cast("shapes.Empty", self._connection.call("events.unsubscribe", {"subscription": subscription}))


class UsageMethods:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def report(
        self,
        *,
        by: Literal["day", "model", "worktree", "session", "agent"] = "day",
        project: str | None = None,
        since: str | None = None,
    ) -> shapes.Usage:
        """Tokens that agents took, in and out, read from caches and written to them, by `day`, `model`,
        `worktree`, `session` or `agent`; one answer counts once, in whatever files it is. `cost` is what the
        agents say, in dollars."""
        return cast(
            "shapes.Usage", self._connection.call("usage.report", {"by": by, "project": project, "since": since})
        )


class AgentsMethods:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list(self) -> shapes.Agents:
        """The agents whose conversations can be followed: whether they are, where theirs are, how many are kept
        and how large these are, and what is refused."""
        return cast("shapes.Agents", self._connection.call("agents.list", {}))

    def session_start(
        self,
        agent: Literal["claude-code", "codex"],
        session_id: str,
        cwd: str,
        source: Literal["startup", "resume", "clear", "compact", "fork"],
        *,
        transcript_path: str | None = None,
    ) -> shapes.Opening:
        """The text for an agent that begins or goes on in a folder: what dagentd has for its context, in at most
        `agents.context_chars` characters; empty where that is nothing, or where the folder is in no served
        project."""
        return cast(
            "shapes.Opening",
            self._connection.call(
                "agents.sessionStart",
                {
                    "agent": agent,
                    "sessionId": session_id,
                    "cwd": cwd,
                    "source": source,
                    "transcriptPath": transcript_path,
                },
            ),
        )


class RpcMethods:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def discover(self) -> shapes.Description:
        """This description, made from the table of methods."""
        return cast("shapes.Description", self._connection.call("rpc.discover", {}))


class Methods:
    """By namespace: `session.getOrCreate` is `session.get_or_create(…)`."""

    def __init__(self, connection: Connection) -> None:
        self.daemon = DaemonMethods(connection)
        self.project = ProjectMethods(connection)
        self.feature = FeatureMethods(connection)
        self.session = SessionMethods(connection)
        self.migration = MigrationMethods(connection)
        self.memory = MemoryMethods(connection)
        self.agx = AgxMethods(connection)
        self.events = EventsMethods(connection)
        self.usage = UsageMethods(connection)
        self.agents = AgentsMethods(connection)
        self.rpc = RpcMethods(connection)
