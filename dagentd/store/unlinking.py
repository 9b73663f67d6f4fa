"""Taking back the link to a session that a migration made, to the very bytes if nobody wrote there since."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dagentd.adapters import backups, disk, files, publishing
from dagentd.adapters.temps import Temps
from dagentd.errors import DagentdError
from dagentd.model.project import FeatureFolder
from dagentd.store import forgetting, layout, links
from dagentd.store.own_documents import Change, LateEdit


def linked_file(feature: FeatureFolder, session_id: str, task: str | None, state: str | None) -> tuple[Path, Change]:
    """Where a session is linked, and what that does to the document."""
    if task is None or state is None:
        return feature.path / "feature.json", lambda raw: {**raw, "sessionId": session_id}
    return feature.task_dir(task) / "task.json", lambda raw: links.with_session(raw, task, state, session_id)


def take_back(
    feature: FeatureFolder, session_id: str, task: str | None, state: str | None, settle: float, temps: Temps
) -> list[LateEdit]:
    """What is still to be looked at when it has settled, if there is anything."""
    path, link = linked_file(feature, session_id, task, state)
    try:
        data = files.read(path)
        current = layout.decoded(path, data)
        if _put_back(path, data, _before(path, current, link), temps):
            return []
    except (FileNotFoundError, DagentdError, publishing.Changed):  # another program's: only the link goes
        pass
    return forgetting.drop_links(session_id, feature, settle, temps)


def _before(path: Path, current: dict[str, Any], link: Change) -> bytes | None:
    """The backup that the link was made in; empty if the file was made for the link."""
    for held in backups.of(path):
        data = files.read(held)
        before = layout.decoded(held, data)
        if before != current == link(before):
            return data
    return b"" if link({}) == current else None


def _put_back(path: Path, data: bytes, before: bytes | None, temps: Temps) -> bool:
    if before is None:
        return False
    if not before:
        disk.remove(path)
        disk.sync_folder(path.parent)
        return True
    done = publishing.publish(path, [before], expect=files.digest(data), sync=True, temps=temps)
    if done.replaced is not None:
        done.replaced.close()
    return True
