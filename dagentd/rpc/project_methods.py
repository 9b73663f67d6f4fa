"""`project.*` and `feature.*`: what is there."""

from __future__ import annotations

from typing import Any

from dagentd.errors import NotFound
from dagentd.jobs import summary
from dagentd.rpc import params
from dagentd.rpc.service import Caller, store_at


def projects(caller: Caller, given: params.Nothing) -> dict[str, Any]:
    """The projects that are served."""
    return {"projects": [summary.project(store, summary.worktrees(store)) for store in caller.service.stores()]}


def scan(caller: Caller, given: params.OfProject) -> dict[str, Any]:
    """Look at every session of a project now, and report what was done."""
    return caller.service.scan(store_at(caller.service, given.project)).raw()


def features(caller: Caller, given: params.Features) -> dict[str, Any]:
    """The features, each with a summary of its tasks."""
    stores = caller.service.stores() if given.project is None else [store_at(caller.service, given.project)]
    return {"features": [summary.feature(store, folder) for store in stores for folder in store.features()]}


def feature(caller: Caller, given: params.OfFeature) -> dict[str, Any]:
    """One feature: its document and a summary of its tasks."""
    stores = caller.service.stores() if given.project is None else [store_at(caller.service, given.project)]
    for store in stores:
        if any(folder.id == given.feature_id for folder in store.features()):
            return summary.feature(store, store.feature(given.feature_id, given.worktree))
    raise NotFound(f"no feature {given.feature_id!a}", hint="dagentd call feature.list")
