"""plan.json, a task's execution plan: how far its loop is, and what fails in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dagentd.model.redaction import redacted

PASSED, FAILED = ("passed", "pass", "completed", "done", "verified"), ("failed", "fail", "error")
_MOST = 40  # items that fail
_LONGEST = 500  # characters of a name or an error: all of this is in every request


def progress(plan: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a developer needs to know before each iteration; None if the plan says nothing of it."""
    entries = plan.get("checklist")
    checks = [each for each in entries if isinstance(each, dict)] if isinstance(entries, list) else []
    failing = [_told(each, "id", "description", "error") for each in checks if each.get("status") in FAILED]
    found = {
        **_told(plan, "iteration", "maxIterations", "status"),
        "failing": [each for each in failing if each][:_MOST],
    }
    return {name: value for name, value in found.items() if value not in ("", [])} or None


def _told(raw: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Texts without secrets, like all that an agent is told of others' output, and numbers."""
    found = {name: raw.get(name) for name in names}
    texts = {name: redacted(value)[:_LONGEST] for name, value in found.items() if isinstance(value, str) and value}
    numbers = {name: value for name, value in found.items() if isinstance(value, int) and not isinstance(value, bool)}
    return {name: ({**texts, **numbers})[name] for name in names if name in texts or name in numbers}
