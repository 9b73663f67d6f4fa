"""`session.*`: what tools do with sessions. The larger jobs load with their first call, so that a start is short."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from dagentd.errors import InvalidInput, LimitReached
from dagentd.jobs import gone, summary
from dagentd.model.conversation import with_text
from dagentd.model.documents import AgentDescription, Context, Document
from dagentd.model.jsontext import Encoded, Undecodable
from dagentd.rpc import params
from dagentd.rpc.service import Caller, fitting, session_of, store_at, store_of
from dagentd.store.session import Session
from dagentd.store.store import Store

T = TypeVar("T")
_SHORT = 1 << 20  # characters: six times as many bytes, if each is escaped, fit into any answer
_MADE = {"id": "0" * 36, "timestamp": "2000-01-01T00:00:00.000Z"}  # what a message gets


def _with(caller: Caller, given: params.OfSession, act: Callable[[Store, Session], T]) -> T:
    with session_of(caller.service, given) as (store, session):
        return act(store, session)


def sessions(caller: Caller, given: params.Sessions) -> dict[str, Any]:
    """Summaries of sessions, with tokens and share of the budget; `compacting` says since when that is under way.
    `gone` as `status` lists those without a worktree."""
    stores = caller.service.stores() if given.project is None else [store_at(caller.service, given.project)]
    of, listed = caller.service.settings_of, gone.sessions if given.status == "gone" else summary.sessions
    found = [each for store in stores for each in listed(store, of(store.project))]
    if given.feature_id is not None:
        found = [each for each in found if each.get("featureId") == given.feature_id]
    if given.status is not None:
        found = [each for each in found if each.get("status") == given.status]
    return {"sessions": summary.with_compactions(found, caller.service.compacting.under_way())}


def get_or_create(caller: Caller, given: params.GetOrCreate) -> dict[str, Any]:
    """The session of a feature or of a task's state, made and linked if there is none."""
    store = store_at(caller.service, given.project)
    where = (given.feature_id, given.task_id, given.task_state, given.worktree)
    session = store.get_or_create(given.type, given.agent_type, *where)
    try:
        caller.service.give_context(store, session.folder)
        return session.document()
    finally:
        session.leave()


def get(caller: Caller, given: params.OfSession) -> dict[str, Any]:
    """A session: its document, its project and its worktree."""
    return _with(caller, given, lambda store, held: {**held.document(), **summary.paused(store, held.id)})


def add_message(caller: Caller, given: params.AddMessage) -> dict[str, Any]:
    """Add a message; answered when it is on disk. The same `id` and content twice is stored once."""
    raw = {"role": given.role, "content": given.content, "metadata": given.metadata, "id": given.id}
    if given.metadata is not None or not isinstance(given.content, str) or len(given.content) > _SHORT:
        _check_room([raw])
    return _with(caller, given, lambda _, session: session.add([raw])[0])


def add_messages(caller: Caller, given: params.AddMessages) -> dict[str, Any]:
    """Add several messages, all or none: a tool call stays with its result."""
    _check_room(given.messages)
    return {"messages": _with(caller, given, lambda _, session: session.add(given.messages))}


def _check_room(added: list[dict[str, Any]]) -> None:
    """What is stored must fit into its answer: who got an error instead would send it again."""
    made = [with_text({**_MADE, **raw} if raw.get("id") else {**raw, **_MADE}) for raw in added]
    if len(fitting(made)) < len(added):
        raise LimitReached("the messages would not fit into one line of 16 MiB", hint="Send less, or store a path.")


def messages(caller: Caller, given: params.Messages) -> dict[str, Any]:
    """The last messages in chat, and how many there are."""
    found, total = _with(caller, given, lambda _, s: s.messages(given.limit, given.include_internal))
    shown = _fitting(found)
    return {"messages": shown, "total": total, **({"more": True} if len(shown) < len(found) else {})}


def history(caller: Caller, given: params.History) -> dict[str, Any]:
    """Every message dagentd ever saw, in order, up to the one before `before`."""
    found, more = _with(caller, given, lambda _, s: s.history(given.before, min(given.limit, 10_000)))
    shown = _fitting(found)
    return {"messages": shown, "more": more or len(shown) < len(found)}


def _fitting(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    shown = fitting(found)
    if found and not shown:
        told = f"message {found[-1].get('id')!a} does not fit into one line of 16 MiB"
        raise LimitReached(told, hint="Read it from the session's history file.")
    return shown


def search(caller: Caller, given: params.Search) -> dict[str, Any]:
    """Messages with all words of `query`, best first: every message ever seen, found by what it says now. Words in
    quotes stand side by side; in the one-line `snippet` each match is in «guillemets»."""
    stores = caller.service.stores() if given.project is None else [store_at(caller.service, given.project)]
    from dagentd.jobs import search as searching

    return {"hits": searching.by_index(stores, given.query, given.session_id, given.limit)}


def clear_messages(caller: Caller, given: params.OfSession) -> dict[str, Any]:
    """All messages leave chat; they stay in history, and the checkpoint stays."""
    return {"messagesCleared": _with(caller, given, lambda _, session: session.clear())}


def checkpoint(caller: Caller, given: params.OfSession) -> dict[str, Any] | None:
    """The checkpoint, null if there is none."""
    return _with(caller, given, lambda _, session: session.checkpoint())


def update_checkpoint(caller: Caller, given: params.UpdateCheckpoint) -> dict[str, Any]:
    """Set fields of the checkpoint, and lists of its summary; those not named stay. Its version rises."""
    return _with(caller, given, lambda _, session: session.update_checkpoint(given.checkpoint))


def context(caller: Caller, given: params.OfSession) -> dict[str, Any] | None:
    """The context as it is now, null if there is none."""

    def act(store: Store, session: Session) -> dict[str, Any] | None:
        caller.service.freshen_context(store, session.folder)
        return session.read("context")

    return _with(caller, given, act)


def rebuild_context(caller: Caller, given: params.OfSession) -> dict[str, Any] | None:
    """Make the context anew from the worktree and the feature as they are now, and answer it."""
    return _with(caller, given, lambda store, s: caller.service.rebuild_context(store, s.folder))


def update_context(caller: Caller, given: params.UpdateContext) -> dict[str, Any]:
    """Replace the context. What dagentd knows better is put right at the next change; fields of yours stay."""
    _check(Context, given.context)
    _with(caller, given, lambda _, session: session.replace("context", given.context))
    return given.context


def agent_description(caller: Caller, given: params.OfSession) -> dict[str, Any] | None:
    """The agent description, null if there is none."""
    return _with(caller, given, lambda _, session: session.read("agent-description"))


def set_agent_description(caller: Caller, given: params.SetAgentDescription) -> dict[str, Any]:
    """Replace the agent description."""
    _check(AgentDescription, given.agent_description)
    _with(caller, given, lambda _, session: session.replace("agent-description", given.agent_description))
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
    from dagentd.jobs import request as requests

    def act(store: Store, session: Session) -> Encoded:
        caller.service.freshen_context(store, session.folder)
        caller.service.compacting.make_room(store, session, given.user_message)
        settings = caller.service.settings_of(store.project)
        return requests.build(store, session, given.user_message, settings, form=given.form, strict=given.strict)

    return _with(caller, given, act)


def preview_request(caller: Caller, given: params.PreviewRequest) -> dict[str, Any]:
    """The same as buildRequest, with what each part costs."""
    from dagentd.jobs import request as requests

    def act(store: Store, session: Session) -> dict[str, Any]:
        caller.service.freshen_context(store, session.folder)
        return requests.preview(store, session, given.user_message, caller.service.settings_of(store.project))

    return _with(caller, given, act)


def restore(caller: Caller, given: params.Restore) -> dict[str, Any]:
    """Bring a session whose worktree is gone back, into its feature or into `featureId`; its messages come with it."""
    store = store_of(caller.service, given.project, given.session_id)
    session = store.restore(given.session_id, given.feature_id, given.worktree)
    try:
        caller.service.give_context(store, session.folder)
        return session.document()
    finally:
        session.leave()


def archive(caller: Caller, given: params.OfSession) -> dict[str, Any]:
    """Give a session the status `archived`; it can still be read."""

    def act(_: Store, session: Session) -> dict[str, Any]:
        session.archive()
        return session.document()

    return _with(caller, given, act)
