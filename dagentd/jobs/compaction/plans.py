"""A task's plan.json, which the Ralph Loop keeps: read, never written."""

from __future__ import annotations

from typing import Any

from dagentd.errors import DagentdError
from dagentd.model import ids
from dagentd.model.redaction import redacted_value
from dagentd.store import layout
from dagentd.store.session import Session


def plan_of(session: Session) -> dict[str, Any] | None:
    """Without secrets, like all that comes into a checkpoint. None where there is none, or none that can be read: a
    compaction does not wait for it."""
    task = session.fields.get("taskId")
    if not ids.is_safe(task):
        return None
    try:
        found = layout.read_object(session.folder.feature.task_dir(str(task)) / "plan.json")
    except (FileNotFoundError, DagentdError):
        return None
    return {key: redacted_value(value) for key, value in found.items()}
