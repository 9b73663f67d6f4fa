"""L5: `sessions/{chat,checkpoint,context,agent-description}_{sid}.json` with no session document beside them."""

from __future__ import annotations

import re
from typing import Any

from dagentd.formats import earlier_context, earlier_summary, kinds, memory, moments
from dagentd.formats.entries import Reading
from dagentd.formats.shape import Converted, Source, began, created, listed, refuse_newer
from dagentd.model import agents, ids
from dagentd.model.jsontext import Undecodable, kind

_COUNTED = ("createdAt", "updatedAt", "messageCount", "tokenCount")  # elsewhere today, or computed


def convert(raw: Any, source: Source) -> Converted:
    if not isinstance(raw, dict):
        raise Undecodable(f"must hold an object, not {kind(raw)}")
    names = ("chat", "checkpoint", "context", "agent-description", "memory")
    chat, checkpoint, context, agent, remembered = (_document(raw, name) for name in names)
    session_id = ids.checked(source.session_id or "")
    about = _about(chat or {}, checkpoint or {}, context or {}, agent or {})
    read = Reading(_chat_path(source.path), since=began(about)).read(listed(chat or {}, "messages", "entries"))
    fields = _fields(context or {}, agent or {}, source, session_id)
    fields |= {**created(about, read.messages), "status": "active"}
    return Converted(
        "L5",
        session_id,
        fields,
        read.messages,
        read.rejected,
        chat=_beside(chat or {}),
        checkpoint=_checkpoint(checkpoint, remembered),
        context=None if context is None else earlier_context.canonical(context, fields),
        agent_description=None if agent is None else _description(agent, fields),
    )


def _document(raw: dict[str, Any], name: str) -> dict[str, Any] | None:
    found = raw.get(name)
    if found is not None and not isinstance(found, dict):
        raise Undecodable(f"{name} must hold an object, not {kind(found)}")
    refuse_newer(found, *(() if name == "checkpoint" else ("version",)))  # a checkpoint's counts compactions
    return found


def _about(*documents: dict[str, Any]) -> dict[str, Any]:
    """When the session was made, as the first document that knows says."""
    chat, *others = documents
    metadata = chat.get("metadata")
    stamps = (began(each) for each in (metadata if isinstance(metadata, dict) else {}, chat, *others))
    return {"createdAt": next(filter(None, stamps), None)}


def _chat_path(path: str) -> str:
    """Ids are derived from the chat's path, whichever of the documents led here."""
    return re.sub(r"(?<=sessions/)(chat|checkpoint|context|agent-description|memory)_", "chat_", path)


def _fields(context: dict[str, Any], agent: dict[str, Any], source: Source, session_id: str) -> dict[str, Any]:
    """The task knows best in which state its sessions are."""
    task, state = source.listed or (kinds.task_of(context, source.task_id), None)
    named = kinds.TYPES.get(str(context.get("type"))), kinds.named_in(session_id)
    said = (agent.get("agentType"), *named, kinds.AGENT_IN.get(str(state)))
    known = next((one for one in said if one in kinds.AGENTS), "dev" if task else "pm")
    return kinds.fields(str(known), source.feature_id, task, state)


def _checkpoint(checkpoint: dict[str, Any] | None, remembered: dict[str, Any] | None) -> dict[str, Any] | None:
    """The memory is the newer one of both."""
    if checkpoint is None and remembered is None:
        return None
    earlier = earlier_summary.canonical(checkpoint or {})
    if remembered is None:
        return earlier
    return memory.as_checkpoint({key: value for key, value in remembered.items() if key != "dagentd"}, earlier)


def _beside(chat: dict[str, Any]) -> dict[str, Any]:
    others = {key: value for key, value in chat.items() if key not in ("messages", "entries", "metadata")}
    metadata = chat.get("metadata")
    if isinstance(metadata, dict):
        metadata = {key: value for key, value in metadata.items() if key not in _COUNTED}
    return {**others, "metadata": metadata} if metadata else others


def _description(raw: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    """One that cannot be understood becomes the usual one, and keeps what it says in the fields that it has."""
    agent, at = fields["agentType"], moments.verbatim(raw.get("createdAt")) or fields.get("createdAt", moments.UNKNOWN)
    try:
        return agents.replaced_by({**raw, "agentType": agent}, agent, at).raw()
    except Undecodable:
        return {**raw, **agents.default(agent, at).raw()}
