"""L1: `chat.json` of a feature, the old chat with the PM; entries of both variants, also mixed."""

from __future__ import annotations

from typing import Any

from dagentd.formats.entries import Reading
from dagentd.formats.shape import Converted, Source, began, carried, created, document, listed
from dagentd.model import ids


def convert(raw: Any, source: Source) -> Converted:
    if source.path.startswith("context-chat/"):  # of the app's newest version: the chat of the project itself
        fields = {"type": "project", "agentType": "pm", "featureId": source.feature_id}
        return chat(raw, source, "L1", ids.checked(f"pm-project-{source.feature_id}"), fields)
    fields = {"type": "feature", "agentType": "pm", "featureId": source.feature_id}
    return chat(raw, source, "L1", ids.feature_session("pm", source.feature_id), fields)


def chat(raw: Any, source: Source, shape: str, session_id: str, fields: dict[str, Any]) -> Converted:
    """A chat of this shape as the session that its place makes it."""
    whole = document(raw, "entries")
    read = Reading(source.path, since=began(whole)).read(listed(whole, "entries", "messages"))
    fields = {**carried(whole), **fields, **created(whole, read.messages), "status": "active"}
    return Converted(shape, session_id, fields, read.messages, read.rejected)
