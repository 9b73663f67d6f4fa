"""L6: `memory_{sid}.json` of the newest app, a checkpoint with three lists by weight.

What is critical or important is a decision, what is minor is pending. What is in progress and what blocks is important
too, for an agent that reads nothing else; back from there it is what it was."""

from __future__ import annotations

from typing import Any

_SHARED = ("version", "createdAt", "updatedAt", "compactionInfo", "stats")  # said alike by both
_OPEN = ("inProgress", "blockers")
_TOLD = {"goal": "Goal: ", "next": "Next step: "}  # to be read there, and not read back; nor are facts

Raw = dict[str, Any]


def as_checkpoint(memory: Raw, base: Raw) -> Raw:
    """`base`, which the memory was made from, with what the memory says. What it has no list for stays as it is."""
    before, important = _lists(base), _list(_lists(memory), "important")
    open_ = {name: [item for item in _list(before, name) if item in important] for name in _OPEN if name in before}
    told = [*(item for items in open_.values() for item in items), *filter(_is_told, important)]
    facts = _list(before, "facts")
    summary = {
        **before,
        **open_,
        "decisions": [*_list(_lists(memory), "critical"), *(item for item in important if item not in told)],
        "pending": [item for item in _list(_lists(memory), "minor") if item not in facts],
    }
    own = {key: value for key, value in memory.items() if key in (*_SHARED, "dagentd")}
    critical = {"critical": _list(_lists(memory), "critical")}
    return {**{key: value for key, value in base.items() if key != "dagentd"}, **own, **critical, "summary": summary}


def with_checkpoint(memory: Raw, checkpoint: Raw) -> Raw:
    """The memory with what the checkpoint says: a decision that was critical stays so, a new one is important."""
    summary = _lists(checkpoint)
    decisions, was = _list(summary, "decisions"), [*_list(checkpoint, "critical"), *_list(_lists(memory), "critical")]
    critical = [item for item in decisions if item in was]
    important = [*(item for item in decisions if item not in critical), *(x for n in _OPEN for x in _list(summary, n))]
    told = [f"{title}{summary[key]}" for key, title in _TOLD.items() if isinstance(summary.get(key), str)]
    minor = [*_list(summary, "pending"), *_list(summary, "facts")]
    weighed = {"critical": critical, "important": [*told, *important], "minor": minor}
    shared = {key: checkpoint[key] for key in _SHARED if key in checkpoint}
    return {**memory, **shared, "summary": {**_lists(memory), **weighed}}


def _is_told(item: Any) -> bool:
    return isinstance(item, str) and item.startswith(tuple(_TOLD.values()))


def _lists(document: Raw) -> Raw:
    summary = document.get("summary")
    return summary if isinstance(summary, dict) else {}


def _list(holder: Raw, name: str) -> list[Any]:
    found = holder.get(name)
    return found if isinstance(found, list) else []
