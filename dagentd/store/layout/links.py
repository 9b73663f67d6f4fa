"""Linking: feature.json names the feature's session, task.json the sessions of each state of a task."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dagentd.adapters.files import disk
from dagentd.adapters.files.atomic import Temps, check_there
from dagentd.errors import DagentdError
from dagentd.model import ids
from dagentd.model.project import DOCUMENTS, FeatureFolder, SessionFolder
from dagentd.store.documents.document_edits import LateEdit, edit_document
from dagentd.store.layout import layout
from dagentd.store.layout.layout import checked_folder


@dataclass(frozen=True)
class Link:
    """The document that names a session, and what that does to it. One that `leads` becomes the feature's session, or
    puts its task into its state. Another does so only where nothing is said yet: what an older file holds is no news,
    and must not move a task that somebody works on."""

    feature: FeatureFolder
    session_id: str
    task: str | None
    state: str | None
    leads: bool = False

    @classmethod
    def of(cls, feature: FeatureFolder, session_id: str, fields: Mapping[str, Any], leads: bool = False) -> Link:
        task, state = fields.get("taskId"), fields.get("taskState")
        if not (task and state):
            task, state = None, None
        return cls(feature, session_id, task, state, leads)

    @property
    def path(self) -> Path:
        return self.feature.path / "feature.json" if self.task is None else _task_file(self.feature, self.task)

    def change(self, raw: dict[str, Any]) -> dict[str, Any]:
        if self.task is None:
            stays = not self.leads and _is_named(self.feature, raw.get("sessionId"))
            return raw if stays else {**raw, "sessionId": self.session_id}
        listed = _listed(raw, str(self.state))
        linked = {"sessionIds": listed if self.session_id in listed else [*listed, self.session_id]}
        states = _object(raw, "states")
        states |= {str(self.state): {**_object(states, str(self.state)), **linked}}
        current = raw.get("currentState")
        stays = not self.leads and isinstance(current, str) and current != ""
        first = {} if raw else {"id": self.task}
        return {**first, **raw, "states": states, "currentState": current if stays else self.state}

    def is_made(self) -> bool:
        """Whether the document names it as it is."""
        raw = _read(self.path)
        held = [raw.get("sessionId")] if self.task is None else _listed(raw, str(self.state))
        return self.session_id in held

    def make(self, settle: float, temps: Temps) -> LateEdit | None:
        """task.json is made for a task that has none. A feature without feature.json is a folder of sessions: none is
        made for it."""
        beside = self.feature.signs
        if self.task is None:
            there = os.path.lexists(self.path)
            return edit_document(self.path, self.change, settle, temps, beside) if there else None
        folder = self.path.parent
        with disk.explained(folder), folders(folder.parent, folder, beside=beside):
            return edit_document(self.path, self.change, settle, temps, beside)


def named(feature: FeatureFolder, task: str | None, state: str | None) -> list[SessionFolder]:
    """The sessions that feature.json, or task.json for a state, names and that are there."""
    if task is None or state is None:
        found = [_read(feature.path / "feature.json").get("sessionId")]
    else:
        found = _listed(_read(_task_file(feature, task)), state)
    return [folder for name in found if (folder := _session(feature, name)) is not None]


def listed(feature: FeatureFolder) -> dict[str, tuple[str, str]]:
    """The task and the state that list each session; of several states the one that the task is in, else the last."""
    found: dict[str, tuple[str, str]] = {}
    for task in filter(ids.is_safe, layout.folder_names(feature.path / "nodes")):
        raw = _read(_task_file(feature, task))
        states, current = list(_object(raw, "states")), raw.get("currentState")
        for state in sorted(states, key=lambda state: state == current):  # the current one last
            found |= {one: (task, state) for one in _listed(raw, state) if isinstance(one, str)}
    return found


@contextlib.contextmanager
def session_folders(folder: SessionFolder, beside: Collection[Path]) -> Iterator[None]:
    """The folders of a session that is put into them meanwhile, inside a feature that is there. Documents that lack
    only their session document are where they are."""
    above = [] if folder.path.is_dir() else [folder.feature.sessions_dir]
    with folders(*above, folder.path, beside=beside):
        yield


@contextlib.contextmanager
def folders(*wanted: Path, beside: Collection[Path]) -> Iterator[None]:
    """Those that had to be made go again where what they are for cannot be put into them: whoever is removing what is
    above them has looked into it already."""
    made: list[Path] = []
    try:
        for each in wanted:
            if not each.is_dir():
                check_there(beside)
                with contextlib.suppress(FileExistsError):  # another thread made it
                    disk.make_folder(each)
                    made.append(each)
            checked_folder(each)
        check_there(beside if made else ())
        yield
    except BaseException:
        for each in reversed(made):
            with contextlib.suppress(OSError):
                disk.remove_folder(each)
        raise


def _task_file(feature: FeatureFolder, task: str) -> Path:
    return feature.task_dir(ids.checked(task, "task id")) / "task.json"


def _is_named(feature: FeatureFolder, name: object) -> bool:
    """Also one that is still in an older shape: it is linked already, and its turn comes."""
    return _session(feature, name) is not None or any(
        os.path.lexists(feature.sessions_dir / file)
        for file in (f"{name}.json", *(f"{document}_{name}.json" for document in DOCUMENTS))
        if ids.is_safe(name)
    )


def _session(feature: FeatureFolder, name: object) -> SessionFolder | None:
    if not isinstance(name, str) or not ids.is_safe(name):
        return None
    if (found := layout.session(feature, name)) is not None:
        return found
    real = layout.session_meant_by(name, layout.sessions(feature))
    return layout.session(feature, real) if real is not None else None


def _read(path: Path) -> dict[str, Any]:
    """Read a document that names sessions. One that is not there, or cannot be read, names nothing."""
    try:
        return layout.read_object(path)
    except (FileNotFoundError, DagentdError):
        return {}


def _listed(raw: dict[str, Any], state: str) -> list[Any]:
    found = _object(_object(raw, "states"), state).get("sessionIds")
    return found if isinstance(found, list) else []


def _object(raw: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = raw.get(key)
    return dict(found) if isinstance(found, dict) else {}
