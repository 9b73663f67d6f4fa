"""Sessions whose worktree is gone, for a list."""

from __future__ import annotations

from typing import Any

from dagentd.errors import DagentdError
from dagentd.jobs import keeping
from dagentd.model.project import GoneFolder
from dagentd.settings import Settings
from dagentd.store.store import Store

_KEPT = ("type", "agentType", "featureId", "taskId", "taskState", "createdAt", "updatedAt", "stats", "restored")


def sessions(store: Store, settings: Settings) -> list[dict[str, Any]]:
    """Each kept journal that is nobody's; the same session may have left several."""
    days, keep = keeping.days_of(store.project), settings.archive.keep_days
    left = {name: max(0, keep - count) for name, count in days.of.items()} if keep else {}
    return [_summary(store, each, left.get(each.journal.name, keep or None)) for each in store.gone()]


def _summary(store: Store, gone: GoneFolder, days_left: int | None) -> dict[str, Any]:
    place = {"id": gone.id, "project": str(store.project.root), "worktree": None, "status": "gone"}
    kept = {"kept": str(gone.journal), "daysLeft": days_left}
    try:
        with store.use(gone) as session:
            document = session.document()
    except DagentdError as error:
        return {**place, **kept, "error": str(error), "hint": error.hint}
    return {**place, **{key: document[key] for key in _KEPT if key in document}, **kept}
