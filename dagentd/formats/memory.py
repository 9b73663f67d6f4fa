"""L6: `memory_{sid}.json` of the newer app, a checkpoint with three lists by weight."""

from __future__ import annotations

from typing import Any


def as_checkpoint(memory: dict[str, Any], base: dict[str, Any]) -> dict[str, Any]:
    """`base` with what the memory says: critical and important are decisions, minor is pending. What the memory
    has no list for stays as it is."""
    summary = {**_lists(base), "decisions": decisions(memory), "pending": _list(_lists(memory), "minor")}
    own = {key: value for key, value in memory.items() if key in ("version", "dagentd")}
    return {**{key: value for key, value in base.items() if key != "dagentd"}, **own, "summary": summary}


def with_checkpoint(memory: dict[str, Any], checkpoint: dict[str, Any]) -> dict[str, Any]:
    """The memory with what the checkpoint says. A decision keeps the weight it has; a new one is important."""
    summary = _lists(checkpoint)
    critical = [item for item in _list(_lists(memory), "critical") if item in _list(summary, "decisions")]
    important = [item for item in _list(summary, "decisions") if item not in critical]
    weighed = {"critical": critical, "important": important, "minor": _list(summary, "pending")}
    return {**memory, "summary": {**_lists(memory), **weighed}}


def decisions(memory: dict[str, Any]) -> list[Any]:
    summary = _lists(memory)
    return [*_list(summary, "critical"), *_list(summary, "important")]


def _lists(document: dict[str, Any]) -> dict[str, Any]:
    summary = document.get("summary")
    return summary if isinstance(summary, dict) else {}


def _list(summary: dict[str, Any], name: str) -> list[Any]:
    found = summary.get(name)
    return found if isinstance(found, list) else []
