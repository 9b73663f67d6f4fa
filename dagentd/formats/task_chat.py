"""L3: `nodes/{taskId}/chat.json`, a task's planning chat; a feature's chat in another place."""

from __future__ import annotations

from typing import Any

from dagentd.formats import feature_chat
from dagentd.formats.shape import Converted, Source
from dagentd.model import ids

_STATE = "planning"


def convert(raw: Any, source: Source) -> Converted:
    task = source.task_id or ""
    fields = {
        "type": "task", "agentType": "pm", "featureId": source.feature_id, "taskId": task, "taskState": _STATE,
    }  # fmt: skip
    session_id = ids.task_session("pm", source.feature_id, task, _STATE)
    return feature_chat.chat(raw, source, "L3", session_id, fields)
