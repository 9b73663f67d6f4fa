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
    lists = {name: _joined([_items(summary.get(old)) for old in names]) for name, names in _LISTS.items()}
    others = {key: value for key, value in summary.items() if key not in _NAMES}
    unread = {} if given is None or isinstance(given, dict) else {"originalSummary": given}
    return {**raw, "version": max(1, version_of(raw)), "summary": {**lists, **others}, **unread}


def _joined(found: list[list[Any]]) -> list[Any]:
    """A writer that serves readers of both shapes says the same twice."""
    first, *others = found
    return [*first, *(item for other in others if other != first for item in other)]


def _items(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]
