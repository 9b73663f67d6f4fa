"""`project.*`, `feature.*`, `migration.*` and pauses: projects as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagentd.errors import NotFound
from dagentd.jobs import summaries
from dagentd.rpc import params
from dagentd.rpc.service import Caller, path_in, store_at, store_of
from dagentd.store.store import Store

if TYPE_CHECKING:
    from dagentd.jobs.migration.sources import File


# `project.*` and `feature.*`: what is there.


def projects(caller: Caller, given: params.Nothing) -> dict[str, Any]:
    """The projects that are served."""
    return {"projects": [summaries.project(store, summaries.worktrees(store)) for store in caller.service.stores()]}


def scan(caller: Caller, given: params.OfProject) -> dict[str, Any]:
    """Look at every session of a project now, and report what was done."""
    return caller.service.scan(store_at(caller.service, given.project)).raw()


def features(caller: Caller, given: params.Features) -> dict[str, Any]:
    """The features, each with a summary of its tasks."""
    stores = caller.service.stores() if given.project is None else [store_at(caller.service, given.project)]
    return {"features": [summaries.feature(store, folder) for store in stores for folder in store.catalogue.features()]}


def feature(caller: Caller, given: params.OfFeature) -> dict[str, Any]:
    """One feature: its document, a summary of its tasks, and each of them with what it depends on."""
    stores = caller.service.stores() if given.project is None else [store_at(caller.service, given.project)]
    for store in stores:
        if any(folder.id == given.feature_id for folder in store.catalogue.features()):
            return summaries.whole_feature(store, store.catalogue.feature(given.feature_id, given.worktree))
    raise NotFound(f"no feature {given.feature_id!a}", hint="dagentd call feature.list")


def create_feature(caller: Caller, given: params.CreateFeature) -> dict[str, Any]:
    """Make a feature in the worktree of its name, `.dagent-worktrees/FEATURE`, which must be there: its `.dagent` with
    a feature.json."""
    store = store_at(caller.service, given.project)
    return summaries.feature(store, store.maker.make_feature(given.feature_id, given.name, given.description))


# `project.pause`, `session.pause` and their ends: for a while dagentd does nothing by itself.


def pause_project(caller: Caller, given: params.PauseProject) -> dict[str, Any]:
    """Do nothing by itself for a project, for `seconds` or until it is resumed: no migration, new context, compaction
    or archive. What others write is still taken in, and what is asked for is done."""
    return caller.service.pausing.pause(store_at(caller.service, given.project), None, given.seconds)


def resume_project(caller: Caller, given: params.OfProject) -> dict[str, Any]:
    """End the pause of a project; what is due is done now. Sessions that were paused by themselves stay so."""
    return caller.service.pausing.resume(store_at(caller.service, given.project), None)


def pause_session(caller: Caller, given: params.PauseSession) -> dict[str, Any]:
    """The same for one session alone."""
    return caller.service.pausing.pause(_store(caller, given), given.session_id, given.seconds)


def resume_session(caller: Caller, given: params.ResumeSession) -> dict[str, Any]:
    """End the pause of a session; `paused` says whether its project still is."""
    return caller.service.pausing.resume(_store(caller, given), given.session_id)


def _store(caller: Caller, given: params.PauseSession | params.ResumeSession) -> Store:
    return store_of(caller.service, given.project, given.session_id)


# `migration.*`: files of older formats become sessions, and that is taken back.


def plan_migration(caller: Caller, given: params.Migration) -> dict[str, Any]:
    """Say what would be done with each file of an older format; nothing is written."""
    from dagentd.jobs import migration

    def of(store: Store, under: Path | None) -> Iterable[File]:
        settings = caller.service.settings_of(store.project)
        return [file for each in store.catalogue.features() for file in migration.plan(store, each, settings, under)]

    return _files(caller, given, of)


def run_migration(caller: Caller, given: params.Migration) -> dict[str, Any]:
    """Make sessions of files of older formats now, also of those that were taken back before."""
    return _files(caller, given, caller.service.migrate)


def roll_back_migration(caller: Caller, given: params.Migration) -> dict[str, Any]:
    """Take migrations back: what was imported leaves, and what nobody used since is as it was before."""
    return _files(caller, given, caller.service.roll_back)


def _files(
    caller: Caller, given: params.Migration, act: Callable[[Store, Path | None], Iterable[File]]
) -> dict[str, Any]:
    """Of each file, and of each folder that may not be looked into."""
    from dagentd.jobs import migration

    inside = given.project or given.path
    stores = caller.service.stores() if inside is None else [store_at(caller.service, inside)]
    found: list[File] = []
    for store in stores:
        under = path_in(store, given.path)
        found += [*act(store, under), *migration.unseen(store.project, under)]
    return {"files": [file.raw() for file in found]}
