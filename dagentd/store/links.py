"""Linking: feature.json names the feature's session, task.json the sessions of each state of a task."""

from __future__ import annotations

import os
from typing import Any

from dagentd.adapters import disk
from dagentd.adapters.temps import Temps
from dagentd.model import ids
from dagentd.model.project import FeatureFolder, SessionFolder
from dagentd.store.layout import checked_folder
from dagentd.store.own_documents import LateEdit, edit_document


def link_feature(feature: FeatureFolder, session_id: str, settle: float, temps: Temps) -> LateEdit | None:
    """A feature without feature.json is a folder of sessions: none is made for it."""
    path = feature.path / "feature.json"
    if not os.path.lexists(path):
        return None
    return edit_document(path, lambda raw: {**raw, "sessionId": session_id}, settle, temps)


def link_task(
    feature: FeatureFolder, task: str, state: str, session_id: str, settle: float, temps: Temps
) -> LateEdit | None:
    """task.json is made for a task that has none."""
    folder = feature.task_dir(ids.checked(task, "task id"))
    for each in (folder.parent, folder):
        with disk.explained(each):
            if not each.is_dir():
                disk.make_folder(each)
        checked_folder(feature, each)
    return edit_document(folder / "task.json", lambda raw: with_session(raw, task, state, session_id), settle, temps)


def with_session(raw: dict[str, Any], task: str, state: str, session_id: str) -> dict[str, Any]:
    states = raw["states"] if isinstance(raw.get("states"), dict) else {}
    held = states[state] if isinstance(states.get(state), dict) else {}
    listed = held["sessionIds"] if isinstance(held.get("sessionIds"), list) else []
    linked = {**held, "sessionIds": listed if session_id in listed else [*listed, session_id]}
    return {**({} if raw else {"id": task}), **raw, "states": {**states, state: linked}, "currentState": state}


def make_session_folder(folder: SessionFolder) -> None:
    """The folders of a new session, inside a feature that is there."""
    for each in (folder.feature.sessions_dir, folder.path):
        if not each.is_dir():
            disk.make_folder(each)
        checked_folder(folder.feature, each)
