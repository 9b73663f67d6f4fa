"""A session with all that was ever said in it, as one document."""

from __future__ import annotations

from typing import Any

from dagentd.adapters import clock
from dagentd.store.sessions.session import Session

VERSION = 1  # of the document: another number where a field changes its meaning or goes
_ALL = 1 << 62


def exported(session: Session) -> dict[str, Any]:
    return {
        "version": VERSION,
        "exportedAt": clock.stamp(),
        "session": session.document(),
        "checkpoint": session.checkpoint(),
        "messages": session.history(limit=_ALL)[0],
        "inChat": [raw.get("id") for raw in session.chat()],
        "moves": session.moves(),
    }
