"""`session.*`: what tools do with sessions. The larger jobs load with their first call, so that a start is short."""

from __future__ import annotations

import os
from itertools import zip_longest
from typing import Any

from dagentd.errors import InvalidInput, LimitReached
from dagentd.jobs import summaries
from dagentd.model.compaction.items import object_of
from dagentd.model.conversation import with_text
from dagentd.model.documents import AgentDescription, Context, Document, version_of
from dagentd.model.ids import is_followed
from dagentd.model.jsontext import Encoded, Undecodable
from dagentd.rpc import params
from dagentd.rpc.service import Caller, fitting, store_at, store_of

_SHORT = 1 << 20  # characters: six times as many bytes, if each is escaped, fit into any answer
_MADE = {"id": "0" * 36, "timestamp": "2000-01-01T00:00:00.000Z"}  # what a message gets


def sessions(caller: Caller, given: params.Sessions) -> dict[str, Any]:
    """Summaries of sessions, with tokens and share of the budget; `compacting` says since when that is under way.
    `gone` as `status` lists those without a worktree; `closed` are folders that may not be looked into. Conversations
    of other agents follow, the last active first; `agent`, `since` and `parent` list only such."""
    from dagentd.jobs import retention
    from dagentd.rpc import followed_methods

    followed = followed_methods.listed(caller, given)
    if given.agent or given.since or given.parent:
        return {"sessions": followed}
    stores = caller.service.stores() if given.project is None else [store_at(caller.service, given.project)]
    of, listed = caller.service.settings_of, retention.gone_sessions if given.status == "gone" else summaries.sessions
    found = [each for store in stores for each in listed(store, of(store.project))]
    if given.feature_id is not None:
        found = [each for each in found if each.get("featureId") == given.feature_id]
    if given.status is not None:
        found = [each for each in found if each.get("status") == given.status]
    if given.worktree is not None:
        found = [each for each in found if given.worktree in _names(each.get("worktree"))]
    closed = [] if given.status == "gone" else [each for store in stores for each in summaries.closed(store)]
    told = {"closed": closed} if closed else {}
    own = summaries.with_compactions(found, caller.service.compacting.under_way())
    return {"sessions": [*own, *followed][: given.limit], **told}


def _names(worktree: object) -> tuple[str, ...]:
    return (worktree, os.path.basename(worktree)) if isinstance(worktree, str) else ()


def get_or_create(caller: Caller, given: params.GetOrCreate) -> dict[str, Any]:
    """The session of a feature or of a task's state, made and linked if there is none."""
    store = store_at(caller.service, given.project)
    where = (given.feature_id, given.task_id, given.task_state, given.worktree)
    session = store.maker.get_or_create(given.type, given.agent_type, *where)
    try:
        caller.service.give_context(store, session.folder)
        return session.document()
    finally:
        session.leave()


def get(caller: Caller, given: params.OfSession) -> dict[str, Any]:
    """A session: its document, its project and its worktree; how many messages are in chat, its size beside the
    budget, what is wrong with it, and whether it is paused, compacted just now, or gone with its worktree."""
    service = caller.service
    with caller.session(given) as (store, held):
        known = summaries.whole(store, held, service.settings_of(store.project))
        return summaries.with_compactions([known], service.compacting.under_way())[0]


def add_message(caller: Caller, given: params.AddMessage) -> dict[str, Any]:
    """Add a message; answered when it is on disk. The same `id` and content twice is stored once."""
    raw = {"role": given.role, "content": given.content, "metadata": given.metadata, "id": given.id}
    if given.metadata is not None or not isinstance(given.content, str) or len(given.content) > _SHORT:
        _check_room([raw])
    with caller.session(given) as (_, session):
        return session.add([raw])[0]


def add_messages(caller: Caller, given: params.AddMessages) -> dict[str, Any]:
    """Add several messages, all or none: a tool call stays with its result."""
    _check_room(given.messages)
    with caller.session(given) as (_, session):
        return {"messages": session.add(given.messages)}


def _check_room(added: list[dict[str, Any]]) -> None:
    """Refuse messages that would not fit into their answer: who got an error instead would send them again."""
    made = [with_text({**_MADE, **raw} if raw.get("id") else {**raw, **_MADE}) for raw in added]
    if len(fitting(made)) < len(added):
        raise LimitReached("the messages would not fit into one line of 16 MiB", hint="Send less, or store a path.")


def messages(caller: Caller, given: params.Messages) -> dict[str, Any]:
    """The last messages in chat, and how many there are."""
    with caller.session(given) as (_, session):
        found, total = session.messages(given.limit, given.include_internal)
        gone = {"gone": True} if session.folder.gone else {}
    shown = _fitting(found)
    return {"messages": shown, "total": total, **({"more": True} if len(shown) < len(found) else {}), **gone}


def history(caller: Caller, given: params.History) -> dict[str, Any]:
    """Every message dagentd ever saw, in order, up to the one before `before`."""
    with caller.session(given) as (_, session):
        found, more = session.history(given.before, min(given.limit, 10_000))
        gone = {"gone": True} if session.folder.gone else {}
    shown = _fitting(found)
    return {"messages": shown, "more": more or len(shown) < len(found), **gone}


def _fitting(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    shown = fitting(found)
    if found and not shown:
        told = f"message {found[-1].get('id')!a} does not fit into one line of 16 MiB"
        raise LimitReached(told, hint="Read it from the session's history file.")
    return shown


def search(caller: Caller, given: params.Search) -> dict[str, Any]:
    """Messages with all words of `query`, best first: every message ever seen, found by what it says now. Words in
    quotes stand side by side; in the one-line `snippet` each match is in «guillemets». `unread` are sessions that could
    not be searched. Conversations of other agents are searched too. `redacted` leaves secrets out of the snippets."""
    from dagentd.rpc import followed_methods

    if is_followed(given.session_id):
        return {"hits": followed_methods.found(caller, given)}
    stores = caller.service.stores() if given.project is None else [store_at(caller.service, given.project)]
    from dagentd.jobs import full_text_search as searching

    hits, errors = searching.search(stores, given.query, given.session_id, given.limit, followed_methods.excerpt(given))
    unread = [{"message": error.message, "path": error.path, "hint": error.hint} for error in errors]
    others = followed_methods.found(caller, given) if given.session_id is None else []
    # Each index has its best first, and neither knows how good the other's are.
    both = [hit for pair in zip_longest(hits, others) for hit in pair if hit is not None]
    return {"hits": both[: given.limit], **({"unread": unread} if unread else {})}


def clear_messages(caller: Caller, given: params.OfSession) -> dict[str, Any]:
    """All messages leave chat; they stay in history, and the checkpoint stays."""
    with caller.session(given) as (_, session):
        return {"messagesCleared": session.clear()}


def checkpoint(caller: Caller, given: params.OfSession) -> dict[str, Any] | None:
    """The checkpoint, null if there is none."""
    with caller.session(given) as (_, session):
        return session.checkpoint()


def update_checkpoint(caller: Caller, given: params.UpdateCheckpoint) -> dict[str, Any]:
    """Set fields of the checkpoint, and lists of its summary; those not named stay. Its version rises."""
    with caller.session(given) as (_, session):
        return session.update_checkpoint(given.checkpoint)


def context(caller: Caller, given: params.OfSession) -> dict[str, Any] | None:
    """The context as it is now, null if there is none."""
    with caller.session(given) as (store, session):
        caller.service.freshen_context(store, session.folder)
        return session.read("context")


def rebuild_context(caller: Caller, given: params.OfSession) -> dict[str, Any] | None:
    """Make the context anew from the worktree and the feature as they are now, and answer it."""
    with caller.session(given) as (store, s):
        return caller.service.rebuild_context(store, s.folder)


def update_context(caller: Caller, given: params.UpdateContext) -> dict[str, Any]:
    """Replace the context. What dagentd knows better is put right at the next change; fields of yours stay."""
    _check(Context, given.context)
    with caller.session(given) as (_, session):
        session.replace("context", given.context)
    return given.context


def agent_description(caller: Caller, given: params.OfSession) -> dict[str, Any] | None:
    """The agent description, null if there is none."""
    with caller.session(given) as (_, session):
        return session.read("agent-description")


def set_agent_description(caller: Caller, given: params.SetAgentDescription) -> dict[str, Any]:
    """Replace the agent description."""
    _check(AgentDescription, given.agent_description)
    with caller.session(given) as (_, session):
        session.replace("agent-description", given.agent_description)
    return given.agent_description


def _check(document: type[Document], raw: dict[str, Any]) -> None:
    """One that could not be read again would replace one that can."""
    try:
        document.parse(raw)
    except Undecodable as error:
        raise InvalidInput(str(error), hint="Give the document as it is in the session's folder.") from None


def build_request(caller: Caller, given: params.BuildRequest) -> Encoded:
    """The request to send to a model, with the user's message; what would be over the limit is compacted first. What is
    over it all the same says so in `overLimit`, with its `parts`; with `strict` it is an error. `form` spares
    one of two copies of the conversation: `system` has it in `systemPrompt` alone, `messages` beside a `preamble`."""
    from dagentd.jobs import requests

    with caller.session(given) as (store, session):
        caller.service.freshen_context(store, session.folder)
        caller.service.compacting.make_room(store, session, given.user_message)
        settings = caller.service.settings_of(store.project)
        return requests.build(store, session, given.user_message, settings, form=given.form, strict=given.strict)


def preview_request(caller: Caller, given: params.PreviewRequest) -> dict[str, Any]:
    """The same as buildRequest, with what each part costs."""
    from dagentd.jobs import requests

    with caller.session(given) as (store, session):
        caller.service.freshen_context(store, session.folder)
        return requests.preview(store, session, given.user_message, caller.service.settings_of(store.project))


def restore(caller: Caller, given: params.Restore) -> dict[str, Any]:
    """Bring a session whose worktree is gone back, into its feature or into `featureId`; its messages come with it."""
    store = store_of(caller.service, given.project, given.session_id)
    session = store.maker.restore(given.session_id, given.feature_id, given.worktree)
    try:
        caller.service.give_context(store, session.folder)
        return session.document()
    finally:
        session.leave()


def archive(caller: Caller, given: params.Archive) -> dict[str, Any]:
    """Give a session the status `archived`; it can still be read. With `archived` false it is active again."""
    with caller.session(given) as (_, session):
        session.archive() if given.archived else session.set(status="active")
        return session.document()


# `session.*` about compaction: what it would do, doing it, taking it back, and what must stay.


def preview_compaction(caller: Caller, given: params.OfSession) -> dict[str, Any]:
    """Propose a compaction, with an id and a diff; nothing is changed."""
    from dagentd.jobs.compaction import described

    with caller.session(given) as (store, session):
        return described(caller.service.compacting.preview(store, session.folder))


def compact(caller: Caller, given: params.ForceCompact) -> dict[str, Any]:
    """Compact now: what `proposalId` proposed, or what comes of it now. `again` does from history what was compacted
    without a model."""
    with caller.session(given) as (store, session):
        return caller.service.compacting.compact(store, session.folder, given.proposal_id, given.again)


def undo_compaction(caller: Caller, given: params.OfSession) -> dict[str, Any]:
    """Take the last compaction back that is not undone yet: its messages and the checkpoint before it."""
    with caller.session(given) as (_, session):
        return caller.service.compacting.undo(session)


def compaction_metrics(caller: Caller, given: params.OfSession) -> dict[str, Any]:
    """The figures of a session's compactions so far."""
    compactor = caller.service.compacting.compactor
    with caller.session(given) as (store, session):
        parts = compactor.scales.parts(session, caller.service.settings_of(store.project))
        stats, checkpoint = session.document().get("stats", {}), session.checkpoint() or {}
        saved = object_of(checkpoint.get("tokens")).get("totalSaved")
        return {
            "totalCompactions": stats.get("totalCompactions", 0),
            "lastCompactionAt": stats.get("lastCompactionAt"),
            "totalTokensSaved": saved if isinstance(saved, int) else 0,
            "checkpointVersion": version_of(checkpoint),
            "checkpointTokens": parts.checkpoint,
            "tokens": parts.total,
            "backend": checkpoint.get("backend"),
            "model": checkpoint.get("model"),
            "undoable": session.undoable,
            "history": compactor.ledger.of_session(str(session.project.root), session.id),
        }


def compactions(caller: Caller, given: params.OfSession) -> dict[str, Any]:
    """The compactions of a session in order, each with what left chat by it and how the checkpoint changed."""
    from dagentd.jobs.compaction import time_line

    with caller.session(given) as (_, session):
        return {"compactions": time_line(session)}


def pin(caller: Caller, given: params.Pin) -> dict[str, Any]:
    """Let an item stay in the checkpoint, or a message in chat, until it is unpinned."""
    if given.item_id is None and given.message_id is None:
        raise InvalidInput("what is to be pinned is missing", hint="Give `itemId` or `messageId`.")
    with caller.session(given) as (store, session):
        compacting = caller.service.compacting
        compacting.pin(store, session, item=given.item_id, message=given.message_id, pinned=given.pinned)
    return {"pinned": given.pinned}
