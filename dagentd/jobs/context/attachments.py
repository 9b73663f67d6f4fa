"""The files that belong to a feature: their names and sizes, and the text of small ones."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dagentd.adapters import beneath, disk
from dagentd.errors import DagentdError, LimitReached
from dagentd.jobs.context import texts
from dagentd.model.project import FeatureFolder

_MOST = 100


@dataclass
class Attachments:
    entries: list[dict[str, Any]] = field(default_factory=list)  # {name, size, content?}
    notes: list[str] = field(default_factory=list)
    sources: set[Path] = field(default_factory=set)


def attachments(feature: FeatureFolder, listed: object, room: int) -> Attachments:
    """Those that feature.json lists, then the others in `attachments/`. Texts are given whole or not at all, as long
    as they have at most `room` bytes together."""
    found, worktree = Attachments(), feature.tree.worktree
    paths = list(dict.fromkeys([*_listed(feature, listed), *_in_folder(feature)]))
    for path in paths[:_MOST]:
        shown = _name(path, feature)
        found.sources.add(path)
        try:
            entry = _entry(path, worktree, shown, room)
        except LimitReached:
            raise
        except DagentdError as error:
            found.notes.append(f"Attachment {shown}: {error.message}.")
            continue
        room -= entry["size"] if "content" in entry else 0
        found.entries.append(entry)
    if len(paths) > _MOST:
        found.notes.append(f"Of {len(paths)} attachments only {_MOST} are listed.")
    return found


def _entry(path: Path, worktree: Path, shown: str, room: int) -> dict[str, Any]:
    with disk.explained(path), texts.opened(path, worktree) as file:
        size = os.fstat(file.fileno()).st_size
        text = _text(file.read(size)) if 0 < size <= room else None
    return {"name": shown, "size": size, **({"content": text} if text else {})}


def _name(path: Path, feature: FeatureFolder) -> str:
    folder = feature.path / "attachments"
    return texts.name(path, folder if path.is_relative_to(folder) else feature.tree.worktree)


def _text(data: bytes) -> str | None:
    """None for an image and the like."""
    try:
        return None if b"\0" in data else data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        return None


def _listed(feature: FeatureFolder, listed: object) -> Iterator[Path]:
    """The app lists paths from the root of the checkout, or from the feature, or bare names."""
    folder = feature.path / "attachments"
    for given in listed if isinstance(listed, list) else []:
        path = given.get("path") or given.get("name") if isinstance(given, dict) else given
        if isinstance(path, str) and path.strip() and _is_path(path):
            places = (folder / path, feature.path / path, feature.tree.worktree / path)
            yield next((place for place in places if os.path.lexists(place)), folder / path)


def _is_path(text: str) -> bool:
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:  # half an emoji
        return False


def _in_folder(feature: FeatureFolder) -> list[Path]:
    folder = feature.path / "attachments"
    try:
        return [folder / name for name in sorted(beneath.names(folder)) if not name.startswith(".")]
    except OSError:  # mostly: there is none
        return []
