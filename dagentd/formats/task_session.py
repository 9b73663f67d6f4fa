"""L2: `nodes/{taskId}/session.json`, what a task's agent and the harness told each other."""

from __future__ import annotations

from typing import Any

from dagentd.formats import moments
from dagentd.formats.entries import Reading
from dagentd.formats.shape import Converted, Source, began, carried, created, document, listed
from dagentd.model import ids

_STATE = "in_dev"


def convert(raw: Any, source: Source) -> Converted:
    whole, task = document(raw, "messages"), source.task_id or ""
    session_id = ids.task_session("dev", source.feature_id, task, _STATE)
    reading = Reading(source.path, moments.canonical, since=began(whole), internal=True)
    read = reading.read(listed(whole, "messages", "entries"))
    fields = {
        **carried(whole), "type": "task", "agentType": "dev", "featureId": source.feature_id, "taskId": task,
        "taskState": _STATE, **created(whole, read.messages), "status": "active",
    }  # fmt: skip
    return Converted("L2", session_id, fields, read.messages, read.rejected)
