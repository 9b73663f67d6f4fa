"""A checkpoint of the earlier shape, with `completedItems` and `pendingItems`, in today's."""

from __future__ import annotations

from typing import Any

from dagentd.model.documents import version_of

_LISTS = {
    "completed": ("completed", "completedItems"),
    "inProgress": ("inProgress", "inProgressItems"),
    "pending": ("pending", "pendingItems"),
    "blockers": ("blockers",),
    "decisions": ("decisions",),
}
_NAMES = {name for names in _LISTS.values() for name in names}


def canonical(raw: dict[str, Any]) -> dict[str, Any]:
    given = raw.get("summary")
    summary = given if isinstance(given, dict) else {}
    lists = {name: [item for old in names for item in _items(summary.get(old))] for name, names in _LISTS.items()}
    others = {key: value for key, value in summary.items() if key not in _NAMES}
    unread = {} if given is None or isinstance(given, dict) else {"originalSummary": given}
    return {**raw, "version": max(1, version_of(raw)), "summary": {**lists, **others}, **unread}


def _items(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]
