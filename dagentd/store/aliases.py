"""Old ids: a session that was migrated from a single file is found by the id that it had there too."""

from __future__ import annotations

from collections.abc import Iterable

from dagentd.errors import DagentdError
from dagentd.model.project import SessionFolder
from dagentd.store import layout


def meant_by(alias: str, folders: Iterable[SessionFolder]) -> str | None:
    """The session with this old id; asked only where no session has it as its own."""
    return next((folder.id for folder in folders if alias in _aliases(folder)), None)


def _aliases(folder: SessionFolder) -> list[object]:
    try:
        found = layout.read_object(folder.document("session")).get("aliases")
    except (FileNotFoundError, DagentdError):
        return []
    return found if isinstance(found, list) else []
