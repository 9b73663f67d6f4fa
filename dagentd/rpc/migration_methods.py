"""`migration.*`: files of older formats become sessions, and that is taken back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagentd.rpc import params
from dagentd.rpc.service import Caller, path_in, store_at
from dagentd.store.store import Store

if TYPE_CHECKING:
    from dagentd.jobs.migration import File


def plan(caller: Caller, given: params.Migration) -> dict[str, Any]:
    """What would be done with each file of an older format; nothing is written."""
    from dagentd.jobs import migration

    def of(store: Store, under: Path | None) -> Iterable[File]:
        settings = caller.service.settings_of(store.project)
        return [file for each in store.features() for file in migration.plan(store, each, settings, under)]

    return _files(caller, given, of)


def run(caller: Caller, given: params.Migration) -> dict[str, Any]:
    """Make sessions of files of older formats now, also of those that were taken back before."""
    return _files(caller, given, caller.service.migrate)


def rollback(caller: Caller, given: params.Migration) -> dict[str, Any]:
    """Take migrations back: what was imported leaves, and what nobody used since is as it was before."""
    return _files(caller, given, caller.service.roll_back)


def _files(
    caller: Caller, given: params.Migration, act: Callable[[Store, Path | None], Iterable[File]]
) -> dict[str, Any]:
    inside = given.project or given.path
    stores = caller.service.stores() if inside is None else [store_at(caller.service, inside)]
    return {"files": [file.raw() for store in stores for file in act(store, path_in(store, given.path))]}
