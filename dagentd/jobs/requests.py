"""Building the request an agent sends: from a session's documents, with the size of each part."""

from __future__ import annotations

from typing import Any, Literal, TypeVar

from dagentd.adapters import clock, tokens
from dagentd.errors import CorruptFile, LimitReached, NotFound
from dagentd.jobs.scales import budget_of, calibration
from dagentd.model import ids, jsontext
from dagentd.model.conversation import in_transcript
from dagentd.model.documents import AgentDescription, Checkpoint, Context, Document
from dagentd.model.jsontext import Encoded, Undecodable
from dagentd.model.request import Breakdown, Parts, Request, compose
from dagentd.settings import Settings
from dagentd.store.documents import document_edits
from dagentd.store.sessions.session import Session
from dagentd.store.store import Store

D = TypeVar("D", bound=Document)
Form = Literal["system", "messages", "both"]
_REVIEWERS = ("qa", "merge")  # they need the decisions of the one who wrote what they look at


def build(
    store: Store, session: Session, user_message: str, settings: Settings, *, form: Form = "both", strict: bool = False
) -> Encoded:
    """`{systemPrompt, userPrompt, messages, totalTokens}`, as JSON; `preamble` is the system prompt without the
    conversation, for a tool that sends `messages`. A long conversation need not be there twice: `form` chooses. One
    that is over the limit says so, and is an error if `strict`."""
    request = compose(_parts(store, session, settings), user_message, settings.request.recent_messages)
    breakdown = _breakdown(session, request, settings)
    if strict and breakdown.over_limit:
        raise _too_large(breakdown)
    return Encoded.of(
        {
            **({"systemPrompt": request.system_prompt_json} if form != "messages" else {}),
            **({"messages": request.messages_json} if form != "system" else {}),
            **{name: jsontext.encode(value).decode() for name, value in _beside(request, breakdown, form).items()},
        }
    )


def _too_large(breakdown: Breakdown) -> LimitReached:
    sizes = ", ".join(f"{name.replace('_', ' ')} {size}" for name, size in breakdown.parts.by_size() if size)
    told = f"the request has {breakdown.total} tokens, and budget.limit is {breakdown.limit}: {sizes}"
    return LimitReached(told, hint="Shorten the biggest part, or raise budget.limit.")


def preview(store: Store, session: Session, user_message: str, settings: Settings) -> dict[str, Any]:
    """The same, with what each part of it costs."""
    request = compose(_parts(store, session, settings), user_message, settings.request.recent_messages)
    breakdown = _breakdown(session, request, settings)
    said = {"systemPrompt": request.system_prompt, "messages": request.messages}
    return {**said, **_beside(request, breakdown, "both"), "breakdown": breakdown.raw()}


def _beside(request: Request, breakdown: Breakdown, form: Form) -> dict[str, Any]:
    """The fields of a request beside its conversation."""
    return {
        "userPrompt": request.user_prompt,
        **({"preamble": request.preamble} if form != "system" else {}),
        "totalTokens": breakdown.total,
        **({"overLimit": True, "parts": breakdown.parts.listed()} if breakdown.over_limit else {}),
    }


def _breakdown(session: Session, request: Request, settings: Settings) -> Breakdown:
    factors, model = calibration(settings), settings.compaction.model
    chat = factors.tokens(in_transcript(session.tokens(tokens.count), tokens.count), model)
    budget, factor = budget_of(settings), factors.factor(model)
    return Breakdown.of(request, tokens.count, factor=factor, chat_tokens=chat, budget=budget)


def _parts(store: Store, session: Session, settings: Settings) -> Parts:
    fields = session.fields
    role = str(fields.get("agentType", "pm"))
    shared = _dev_checkpoint(store, session) if settings.request.share_checkpoints and role in _REVIEWERS else None
    described = session.read("agent-description") or document_edits.initial_description(
        session.project, role, clock.stamp()
    )
    context, checkpoint = session.read("context"), session.checkpoint()
    return Parts(
        agent=_parsed(AgentDescription, described, session, "agent-description"),
        context=_parsed(Context, context, session, "context") if context else None,
        checkpoint=_parsed(Checkpoint, checkpoint, session, "checkpoint") if checkpoint else None,
        shared_checkpoint=shared,
        messages=session.said(tokens.count),
    )


def _dev_checkpoint(store: Store, session: Session) -> Checkpoint | None:
    feature, task = session.folder.feature, session.fields.get("taskId")
    if not ids.is_safe(task) or not ids.is_safe(feature.id):
        return None
    try:
        usual = ids.task_session("dev", feature.id, str(task), "in_dev")
        named = store.maker.linked(feature, {"agentType": "dev", "taskId": str(task), "taskState": "in_dev"}, usual)
        dev = store.session(named or usual, feature.tree.name, feature.id)
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
