"""The context of every session of a feature, brought up to date; written only where it changed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from dagentd.errors import DagentdError, NotAllowed, NotFound
from dagentd.jobs.context import checkouts, feature_parts
from dagentd.jobs.context.checkouts import Checkout
from dagentd.jobs.context.checkouts import Checkouts as Checkouts
from dagentd.jobs.context.feature_parts import FeatureParts
from dagentd.jobs.context.plan import Plan, attachment_room
from dagentd.model.project import FeatureFolder, SessionFolder
from dagentd.settings import Settings
from dagentd.store import layout, places
from dagentd.store.store import Store
from dagentd.waiting import pause

Document = dict[str, Any] | None
InTurn = Callable[[Callable[[], Document]], Document]


@dataclass(frozen=True)
class Rebuilt:
    """`sources` are the files it was made from that nobody would look for by their names.
    `errors` say whose context could not be written, and why."""

    written: tuple[SessionFolder, ...] = ()
    sources: frozenset[Path] = frozenset()
    errors: tuple[tuple[SessionFolder, DagentdError], ...] = ()


def rebuild(
    store: Store, feature: FeatureFolder, settings: Settings, shared: Checkouts, *, fresh: bool = False,
    asked: SessionFolder | None = None,
) -> Rebuilt:  # fmt: skip
    """`fresh` reads everything anew. A session that is paused is left out, unless it is `asked` for. Nothing is written
    in a worktree that is being removed, nor without the lock."""
    if asked is None and store.pauses.of_project():
        return Rebuilt()
    checkout = shared.look(feature.tree.worktree, store.project.common_dir, settings, fresh=fresh)
    if checkout is None:
        return Rebuilt()
    begin = time.time_ns()
    parts = feature_parts.read(feature, attachment_room(settings))
    plan = Plan(store.project, feature, checkout, parts, settings)
    written, errors = [], []
    for folder in layout.sessions(feature):
        if store.pauses.on(folder.id) and not (asked is not None and _is(folder, asked)):
            continue
        try:
            if _renew(store, folder, plan):
                written.append(folder)
        except DagentdError as error:
            errors.append((folder, error))
    seen = checkouts.settled(checkouts.marks_of(sorted(plan.looked_at)), begin)
    shared.note(feature.path, checkout, None if errors else seen)
    return Rebuilt(tuple(written), _elsewhere(feature, checkout, parts), tuple(errors))


def is_current(store: Store, folder: SessionFolder, settings: Settings, shared: Checkouts) -> bool:
    """Whether a session's context says what is so now, as far as a few stats can tell."""
    feature = folder.feature
    there = os.path.exists(folder.document("context"))
    return there and shared.is_current(feature.path, feature.tree.worktree, store.project.common_dir, settings)


def check_there(folder: SessionFolder) -> None:
    if folder.gone:
        told = f"the worktree of {folder.id} is gone, and its context with it"
        raise NotFound(told, hint=f"dagentd restore {folder.id}")


def rebuild_one(
    store: Store, folder: SessionFolder, settings: Settings, shared: Checkouts, in_turn: InTurn = lambda job: job()
) -> dict[str, Any] | None:
    """The context of one session as it is now, with everything read anew; those of its feature are written too. None
    if there is none, because the session or its worktree is being removed. `in_turn` runs a job: where the context must
    wait for a moment, the one who asked waits, and not whoever does the job."""
    path = folder.document("context")
    while True:
        found = in_turn(partial(rebuild_now, store, folder, settings, shared))
        if (seconds := store.context_due(path)) is None:
            return found
        pause(seconds)


def rebuild_now(store: Store, folder: SessionFolder, settings: Settings, shared: Checkouts) -> dict[str, Any] | None:
    """The same, once; None also where it must wait."""
    check_there(folder)
    if store.read_only:
        raise NotAllowed("is served read-only", path=store.project.root, hint="dagentd status says why.")
    rebuilt = rebuild(store, folder.feature, settings, shared, fresh=True, asked=folder)
    for failed, error in rebuilt.errors:
        if _is(failed, folder):
            raise error
    return read(folder) if store.context_due(folder.document("context")) is None else None


def _is(one: SessionFolder, other: SessionFolder) -> bool:
    return (one.path, one.id) == (other.path, other.id)


def read(folder: SessionFolder) -> dict[str, Any] | None:
    try:
        return layout.read_object(folder.document("context"))
    except FileNotFoundError:
        return None


def _renew(store: Store, folder: SessionFolder, plan: Plan) -> bool:
    session = _session(store, folder)
    if session is None:
        return False
    return store.renew_context(folder, partial(plan.renewed, session), session.get("taskId"))


def _session(store: Store, folder: SessionFolder) -> dict[str, Any] | None:
    """What is known of a session without opening it; one that lies under a task is a session of that task. None while
    it is being made: its first context told an agent of no task, and whoever makes it asks for one afterwards."""
    try:
        known = store.document(folder) or layout.read_object(folder.document("session"))
    except FileNotFoundError:
        return None
    return {"taskId": folder.task_id, **{key: value for key, value in known.items() if value is not None}}


def _elsewhere(feature: FeatureFolder, checkout: Checkout, parts: FeatureParts) -> frozenset[Path]:
    own = (feature.path, feature.path / "attachments")
    shared = {each for each in checkout.sources if not places.is_known(each, feature.tree)}
    return frozenset(shared | {each for each in parts.sources if each.parent not in own})
