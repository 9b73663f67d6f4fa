"""Forgetting a session for good, for a secret that leaked: every file that holds something of it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from dagentd.adapters import beneath, disk
from dagentd.adapters.temps import Temps
from dagentd.errors import CorruptFile
from dagentd.model.project import DOCUMENTS, FeatureFolder, SessionFolder
from dagentd.store import layout, sealed
from dagentd.store.kept import Kept
from dagentd.store.own_documents import LateEdit, edit_document

# What stands beside a file and holds what it held: set aside, cut off, backed up, not yet renamed.
_BESIDE = r"(\.(corrupt|torn|backup)(\.[0-9]+)?|\.[0-9]+(-[0-9]+)?\.dagentd-tmp)?"


def traces(
    session_id: str, features: list[FeatureFolder], sources: Iterable[Path], kept: Kept, temps: Temps
) -> list[Path]:
    """All files that are the session's, in every feature and whether it is still served there or not. `sources` are
    those it was migrated from: left alone, they would be migrated again."""
    places = [place for feature in features for place in _places(session_id, feature)]
    found = [path for place in places for path in _in_folder(place.path, _names(place))]
    found += [path for source in sources for path in _in_folder(source.parent, {source.name})]
    found += [temp for temp, _ in temps.left(place.path / name for place in places for name in _names(place))]
    found += [*kept.of(session_id), *sealed.of_session(kept.folder, session_id)]
    found += _in_folder(kept.folder, {session_id})
    return sorted(set(found))


def _places(session_id: str, feature: FeatureFolder) -> Iterator[SessionFolder]:
    """Wherever it can be, in both styles."""
    nodes = [feature.task_dir(task) / "sessions" for task in layout.folder_names(feature.path / "nodes")]
    for folder in (feature.sessions_dir, *nodes):
        if not beneath.leads_out(folder):
            yield layout.with_names(SessionFolder(session_id, folder, "prefixed", feature))
            if not (folder / session_id).is_symlink():
                yield layout.with_names(SessionFolder(session_id, folder / session_id, "folder", feature))


def _names(place: SessionFolder) -> set[str]:
    """Also that of the single file which a session once was."""
    paths = [path for name in DOCUMENTS for path in (place.conventional(name), place.document(name))]
    single = {f"{place.id}.json"} if place.style == "prefixed" else set()
    return {path.name for path in (*paths, place.conventional("memory"), place.journal)} | single


def _in_folder(folder: Path, names: set[str]) -> list[Path]:
    pattern = re.compile(r"\.?(" + "|".join(map(re.escape, sorted(names))) + ")" + _BESIDE)
    try:
        held = beneath.names(folder)
    except OSError:  # not there
        return []
    return [folder / name for name in held if pattern.fullmatch(name) and not (folder / name).is_dir()]


def sources_of(feature: FeatureFolder, session: dict[str, Any]) -> list[Path]:
    """The files that a session says it was migrated from, if they are in its feature."""
    listed = session.get("migratedFrom")
    named = [each.get("path") for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    found = [feature.path / name for name in named if isinstance(name, str) and "\0" not in name]
    return [path for path in found if _is_inside(path, feature.path) and path.is_file()]


def _is_inside(path: Path, folder: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def remove(found: Iterable[Path], session_id: str) -> None:
    folders = set()
    for path in found:
        with disk.explained(path):
            disk.remove(path)
        folders.add(path.parent)
    for folder in folders:
        if folder.name == session_id and not beneath.names(folder):
            disk.remove_folder(folder)
        else:
            disk.sync_folder(folder)


def drop_links(session_id: str, feature: FeatureFolder, settle: float, temps: Temps) -> list[LateEdit]:
    """Take the session out of feature.json and of every task.json."""
    tasks = [feature.task_dir(task) / "task.json" for task in layout.folder_names(feature.path / "nodes")]
    late = [_edited(path, session_id, settle, temps) for path in (feature.path / "feature.json", *tasks)]
    return [each for each in late if each is not None]


def _edited(path: Path, session_id: str, settle: float, temps: Temps) -> LateEdit | None:
    if not os.path.lexists(path):
        return None
    try:
        return edit_document(path, lambda raw: _without(raw, session_id), settle, temps)
    except CorruptFile:  # not to be read: it holds no link that we made
        return None


def _without(raw: dict[str, Any], session_id: str) -> dict[str, Any]:
    kept = {key: value for key, value in raw.items() if (key, value) != ("sessionId", session_id)}
    if isinstance(states := raw.get("states"), dict):
        kept["states"] = {name: _without_listed(state, session_id) for name, state in states.items()}
    return kept


def _without_listed(state: Any, session_id: str) -> Any:
    listed = state.get("sessionIds") if isinstance(state, dict) else None
    return {**state, "sessionIds": [one for one in listed if one != session_id]} if isinstance(listed, list) else state
