"""Taking back the link to a session that a migration made, to the very bytes if nobody wrote there since."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dagentd.adapters import backups, disk, files, publishing
from dagentd.adapters.temps import Temps
from dagentd.errors import DagentdError
from dagentd.store import forgetting, layout
from dagentd.store.links import Link
from dagentd.store.own_documents import LateEdit


def take_back(link: Link, was_there: bool, settle: float, temps: Temps) -> list[LateEdit]:
    """What is still to be looked at when it has settled, if there is anything. A link that `was_there` before the
    migration stays."""
    try:
        data = files.read(link.path)
        if _put_back(link.path, data, _before(link, layout.decoded(link.path, data), was_there), temps):
            return []
    except (FileNotFoundError, DagentdError, publishing.Changed):  # another program's: only the link goes
        pass
    return [] if was_there else forgetting.drop_links(link.session_id, link.feature, settle, temps)


def _before(link: Link, current: dict[str, Any], was_there: bool) -> bytes | None:
    """The backup that the link was made in; empty if the file was made for the link."""
    for held in backups.of(link.path):
        data = files.read(held)
        before = layout.decoded(held, data)
        if before != current == link.change(before):
            return data
    return b"" if not was_there and link.change({}) == current else None


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
