"""Merging an outside checkpoint: applied as edits to the one its writer had seen."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from dagentd.model import jsontext
from dagentd.model.compaction.items import LISTS, SEEDS, items_of
from dagentd.model.documents import version_of
from dagentd.store.journal.state import State

# What another program left in a session's files, as it was found.


@dataclass(frozen=True)
class OutsideDocument:
    """A document as it was found. `pos` is the journal position it carries, if the journal has that position;
    `ours` says that it carries one at all: the app keeps it when it adds, and drops it when it builds anew."""

    raw: dict[str, Any]
    source: str  # its path within the feature, for the ids of entries that have none
    pos: int | None = None
    ours: bool = False
    mark: str = ""  # by which the file is known again
    leftover: bool = False  # of a file that lost its name: what it lacks may have been taken in long ago


@dataclass(frozen=True)
class OutsideDocuments:
    """The documents of one session that are not as we left them, read together."""

    chat: OutsideDocument | None = None
    checkpoint: OutsideDocument | None = None
    session: OutsideDocument | None = None
    remade: bool = False  # the app took the session for missing and has just made documents of it anew
    brought: Collection[str] = ()  # ids that are in chat only because this one was glanced at before


_OWN = ("dagentd", "version", "updatedAt", "summary")
_REWORDED = "decisionsOfApp"  # what the app's own last compaction wrote: its next one replaces these


def merge_checkpoint(state: State, doc: OutsideDocument, at: str) -> dict[str, Any] | None:
    """The checkpoint with what was done to it outside; None if that changes nothing. New strings are added and
    vanished ones are resolved; decisions, pinned ones, and what was added since, stay. The items beside the lists are
    ours: they say what is pinned."""
    theirs, ours, bases = doc.raw, state.checkpoint or {}, _bases(state, doc)
    merged = {**ours, **_changed_fields(bases[0], theirs), **({"items": ours["items"]} if "items" in ours else {})}
    stay = _summary(ours) if doc.leftover else {"decisions": _standing(ours, doc)}
    if _is_compaction(ours, doc):
        kept = [each for each in _standing(ours, doc) if each in _items(_summary(theirs), "decisions")]
        merged[_REWORDED] = [each for each in _items(_summary(theirs), "decisions") if each not in kept]
    pinned = [item.entry for item in items_of(ours) if item.pinned]
    merged["summary"] = _merge_summary([*map(_summary, bases)], _summary(theirs), _summary(ours), stay, pinned)
    if jsontext.encode(_content(merged)) == jsontext.encode(_content(ours)):
        return None
    merged["version"] = max(version_of(theirs), version_of(ours) + 1)
    merged["updatedAt"] = at
    return {key: value for key, value in merged.items() if key != "dagentd"}


def _is_compaction(ours: dict[str, Any], doc: OutsideDocument) -> bool:
    """Whether the app compacted: it builds a new document then, from all that it read and in other words."""
    info = doc.raw.get("compactionInfo")
    return not doc.ours and not doc.leftover and info is not None and info != ours.get("compactionInfo")


def _standing(ours: dict[str, Any], doc: OutsideDocument) -> list[Any]:
    """The decisions that stay whatever was done outside: all but those that the app's last compaction wrote, when it
    compacts again. They only grew otherwise: 25 rewordings of two gave 50."""
    decisions = _items(_summary(ours), "decisions")
    replaced = _items(ours, _REWORDED) if _is_compaction(ours, doc) else []
    return [each for each in decisions if each not in replaced]


def _bases(state: State, doc: OutsideDocument) -> list[dict[str, Any]]:
    """The checkpoints that its writer may have read. The app raises the version when it writes: one without a position
    that has the version of ours is made from the one before, or an edit of ours. Of a leftover, whatever was in ours
    since may have come from it and been resolved."""
    bases = [base_checkpoint(state, doc) or {}]
    version = doc.raw.get("version")
    if doc.pos is None and isinstance(version, int) and (before := state.checkpoint_of_version(version - 1)):
        bases.append(before)
    return bases + (state.checkpoints_after(doc.pos, version) if doc.leftover else [])


def base_checkpoint(state: State, doc: OutsideDocument) -> dict[str, Any] | None:
    if doc.pos is not None:
        return state.checkpoint_at(doc.pos)
    version = doc.raw.get("version")
    return state.checkpoint_of_version(version) if isinstance(version, int) else state.checkpoint


def _changed_fields(base: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in theirs.items() if key not in _OWN and (key not in base or base[key] != value)}


def _summary(doc: dict[str, Any]) -> dict[str, Any]:
    summary = doc.get("summary")
    return summary if isinstance(summary, dict) else {}


def _merge_summary(
    bases: list[dict[str, Any]], theirs: dict[str, Any], ours: dict[str, Any], stay: dict[str, Any], pinned: list[Any]
) -> dict[str, Any]:
    """Merge the summaries; all of ours that is in `stay` or pinned stays."""
    merged = {**ours, **{k: v for k, v in theirs.items() if k not in LISTS and bases[0].get(k) != v}}
    for name in _lists(theirs):
        known, fixed = [_items(base, name) for base in bases], _items(stay, name) + pinned
        merged[name] = _merge_list(known, _items(theirs, name), _items(ours, name), fixed)
    return merged


def _lists(theirs: dict[str, Any]) -> list[str]:
    """Facts are ours: whoever writes a checkpoint without them does not know them, and leaves them standing."""
    return [*SEEDS, *(name for name in LISTS if name not in SEEDS and name in theirs)]


def _merge_list(bases: list[list[Any]], theirs: list[Any], ours: list[Any], fixed: list[Any]) -> list[Any]:
    """Merge a list. An item of one base only may be no news to its writer, nor something that it took away."""
    stay = [item for item in ours if item in fixed or item in theirs or any(item not in base for base in bases)]
    return stay + [item for item in theirs if item not in stay and all(item not in base for base in bases)]


def _items(summary: dict[str, Any], name: str) -> list[Any]:
    items = summary.get(name)
    return items if isinstance(items, list) else []


def _content(doc: dict[str, Any]) -> dict[str, Any]:
    content = {key: value for key, value in sorted(doc.items()) if key not in ("dagentd", "version", "updatedAt")}
    return content | {"summary": {**_summary(doc), **{name: _items(_summary(doc), name) for name in SEEDS}}}
