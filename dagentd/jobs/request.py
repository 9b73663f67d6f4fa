"""Building the request an agent sends: from a session's documents, with the size of each part."""

from __future__ import annotations

from typing import Any, TypeVar

from dagentd.adapters import clock, tokens
from dagentd.errors import CorruptFile, NotFound
from dagentd.jobs.sizes import calibration
from dagentd.model import ids
from dagentd.model.budget import Budget
from dagentd.model.documents import AgentDescription, Checkpoint, Context, Document, Message
from dagentd.model.jsontext import Undecodable
from dagentd.model.request import Breakdown, Parts, Request, compose
from dagentd.settings import Settings
from dagentd.store import roles
from dagentd.store.session import Session
from dagentd.store.store import Store

D = TypeVar("D", bound=Document)
_REVIEWERS = ("qa", "merge")  # they need the decisions of the one who wrote what they look at


def build(store: Store, session: Session, user_message: str, settings: Settings) -> dict[str, Any]:
    """`{systemPrompt, userPrompt, messages, totalTokens}`; `preamble` is the system prompt without the
    conversation, for a tool that sends `messages`."""
    request = compose(_parts(store, session, settings), user_message, settings.request.recent_messages)
    return _shown(request, _breakdown(session, request, settings))


def preview(store: Store, session: Session, user_message: str, settings: Settings) -> dict[str, Any]:
    """The same, with what each part of it costs."""
    request = compose(_parts(store, session, settings), user_message, settings.request.recent_messages)
    breakdown = _breakdown(session, request, settings)
    return {**_shown(request, breakdown), "breakdown": breakdown.raw()}


def _shown(request: Request, breakdown: Breakdown) -> dict[str, Any]:
    return {
        "systemPrompt": request.system_prompt,
        "userPrompt": request.user_prompt,
        "messages": request.messages,
        "preamble": request.preamble,
        "totalTokens": breakdown.total,
    }


def _breakdown(session: Session, request: Request, settings: Settings) -> Breakdown:
    factors, model = calibration(settings), settings.compaction.model
    limits = settings.budget
    budget = Budget(limits.limit, limits.threshold, limits.target, limits.prompt_buffer)
    chat = factors.tokens(session.tokens(tokens.count), model)
    return Breakdown.of(request, tokens.count, factor=factors.factor(model), chat_tokens=chat, budget=budget)


def _parts(store: Store, session: Session, settings: Settings) -> Parts:
    fields = session.fields
    role = str(fields.get("agentType", "pm"))
    shared = _dev_checkpoint(store, session) if settings.request.share_checkpoints and role in _REVIEWERS else None
    described = session.read("agent-description") or roles.description(session.project, role, clock.stamp())
    context, checkpoint = session.read("context"), session.checkpoint()
    return Parts(
        agent=_parsed(AgentDescription, described, session, "agent-description"),
        context=_parsed(Context, context, session, "context") if context else None,
        checkpoint=_parsed(Checkpoint, checkpoint, session, "checkpoint") if checkpoint else None,
        shared_checkpoint=shared,
        messages=[Message.parse(raw) for raw in session.chat()],
    )


def _dev_checkpoint(store: Store, session: Session) -> Checkpoint | None:
    feature, task = session.folder.feature, session.fields.get("taskId")
    if not ids.is_safe(task) or not ids.is_safe(feature.id):
        return None
    try:
        dev = store.session(ids.task_session("dev", feature.id, str(task), "in_dev"), feature.tree.name)
    except NotFound:
        return None
    checkpoint = dev.checkpoint()
    return _parsed(Checkpoint, checkpoint, dev, "checkpoint") if checkpoint else None


def _parsed(model: type[D], raw: dict[str, Any], session: Session, name: str) -> D:
    try:
        return model.parse(raw)
    except Undecodable as error:
        path = session.folder.document(name)
        raise CorruptFile(str(error), path=path, hint="Mend the file or move it away.") from None
