"""Messages as documents hold them, each with an id of its own: the same one whenever the document is read again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dagentd.model import conversation, ids, jsontext, records


def with_ids(
    entries: list[Any], source: str, of_others: Callable[[str], bool] = lambda _: False
) -> list[dict[str, Any]]:
    """The entries that are objects, each with an id, and with a text for its content."""
    naming = ids.Naming(source, of_others)
    result = []
    for entry in entries:
        if isinstance(entry, dict):
            given = entry.get("id")
            own = naming.id_of(given, entry.get("role"), entry.get("timestamp"), entry.get("content"))
            named = entry if own == given else {"id": own} | {k: v for k, v in entry.items() if k != "id"}
            result.append(conversation.with_text(named))
    return result


def told_apart(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each under an id of its own, where there is no journal yet to say which of several had it first."""
    result: dict[str, dict[str, Any]] = {}
    for raw in entries:
        other = result.get(raw["id"])
        if other is not None and records.core(other) != records.core(raw):
            raw = renamed(raw)
        result.setdefault(raw["id"], raw)
    return list(result.values())


def renamed(raw: dict[str, Any]) -> dict[str, Any]:
    content = jsontext.encode([raw.get("role"), raw.get("timestamp"), raw.get("content")])
    return raw | {"id": ids.clashing(raw["id"], content)}
