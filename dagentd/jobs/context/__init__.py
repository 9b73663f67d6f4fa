"""Rebuilding contexts: what each session's context should hold, and writing it where it differs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from dagentd.adapters import clock
from dagentd.errors import DagentdError, LimitReached, NotAllowed, NotFound
from dagentd.jobs.context.checkouts import Checkout
from dagentd.jobs.context.checkouts import Checkouts as Checkouts
from dagentd.jobs.context.feature_parts import FeatureParts
from dagentd.jobs.scales import Sizes
from dagentd.model import context_document, ids
from dagentd.model.compaction import ralph
from dagentd.model.cutting import Cut
from dagentd.model.problem import Problem
from dagentd.model.project import FeatureFolder, Project, SessionFolder
from dagentd.settings import Settings
from dagentd.store.layout import layout
from dagentd.store.ledger import Ledger
from dagentd.store.store import Store
from dagentd.waiting import pause

# What a session's context says, from what its worktree and its feature have: decided here, written elsewhere.

# Of context.max_claude_md_tokens, each part may have one part in so many.
_SHARES = {"claudeMd": 1, "agentsMd": 1, "projectMd": 2, "spec": 2, "featureGoal": 10, "taskDescription": 10}
_PLANNERS = ("pm", "feature")  # who is told of all tasks
_NOTES = 50


class Plan:
    """For the sessions of one feature: what they share is put together once."""

    def __init__(
        self, project: Project, feature: FeatureFolder, checkout: Checkout, parts: FeatureParts, settings: Settings,
        ledger: Ledger,
    ) -> None:  # fmt: skip
        self._feature, self._dag, self._sizes = feature, parts.dag, Sizes(settings, ledger)
        self.looked_at: set[Path] = set()  # beside what those were read from
        self._most = settings.context.max_claude_md_tokens
        view, rules = checkout.view, checkout.rules
        self._notes = [*view.notes, *rules.notes, *parts.notes]
        self._texts = {
            "claudeMd": rules.claude_md, "agentsMd": rules.agents_md, "projectMd": rules.project_md,
            "spec": parts.spec, "featureGoal": parts.goal,
        }  # fmt: skip
        self._cuts: dict[tuple[str, str], Cut] = {}
        summary = parts.dag.summary() if parts.dag is not None and parts.dag.nodes else None
        self._shared = {
            "projectRoot": str(project.root), "worktree": str(feature.tree.worktree), "featureId": feature.id,
            "featureName": parts.name, "dagSummary": summary, "projectStructure": view.structure,
            "attachments": parts.attachments or None, "remembered": parts.remembered or None,
        }  # fmt: skip
        # Without a branch HEAD is detached, without a commit there is none yet; without both fields git was not read.
        head = view.head
        self._git = {"recentCommits": view.commits, "gitBranch": head.branch, "gitCommit": head.commit} if head else {}

    def renewed(self, session: Mapping[str, Any], before: dict[str, Any]) -> dict[str, Any] | None:
        """The context of a session; None if the one before says the same."""
        task = self._of_task(session, before)
        given = {**self._texts, "taskDescription": task.pop("taskDescription")}
        cuts = {name: self._cut(name, text, before) for name, text in given.items() if text}
        notes = [*self._notes, *(self._told(name, cut) for name, cut in cuts.items() if cut.left_out)]
        if len(notes) > _NOTES:
            notes = [*notes[:_NOTES], f"There are {len(notes) - _NOTES} more of such notes."]
        found = {**self._shared, **task, **{name: cut.text for name, cut in cuts.items()}, "notes": notes or None}
        ours = {**{name: value for name, value in found.items() if value not in (None, "")}, **self._git}
        if context_document.is_current(before, ours):
            return None
        return context_document.renewed(before, ours, clock.stamp(), self._sizes.count)

    def _of_task(self, session: Mapping[str, Any], before: dict[str, Any]) -> dict[str, Any]:
        """The fields of its task and its role. A session of a feature may be about a task all the same, as in the
        documents' example: its app says so there. And of fields of a graph for which there is none, nobody knows better
        than what is said already."""
        told = {name: before[name] for name in ("taskId", "taskState") if isinstance(before.get(name), str)}
        about = session if session.get("taskId") else {**session, **told}
        task = about.get("taskId")
        node = self._dag.node(str(task)) if self._dag is not None else None
        found = self._of_role(about)
        if isinstance(task, str):
            found |= context_document.of_task(task, about.get("taskState"), self._dag)
        said: tuple[str, ...] = ()
        if self._dag is None:
            said = context_document.OF_GRAPH if task else context_document.OF_FEATURE
        elif task and not session.get("taskId") and node is None:
            said = context_document.OF_TASK
        found |= {name: before.get(name) or found.get(name) for name in said}
        described = node.description.strip() if node and isinstance(node.description, str) else ""
        return {
            **found,
            "taskDescription": str(before.get("taskDescription") or "") if "taskTitle" in said else described,
        }

    def _of_role(self, session: Mapping[str, Any]) -> dict[str, Any]:
        """The fields that only some roles need: who plans is told of all tasks, who develops how far the plan is."""
        role, task = session.get("agentType"), session.get("taskId")
        if role in _PLANNERS:
            return {"tasks": context_document.tasks(self._dag) if self._dag is not None else None}
        if role != "dev" or not isinstance(task, str) or not ids.is_safe(task):
            return {}
        path = self._feature.task_dir(task) / "plan.json"
        self.looked_at.add(path)
        try:
            return {"plan": ralph.plan_progress(layout.read_object(path))}
        except (FileNotFoundError, DagentdError):  # half a file is read again when the rest of it comes
            return {}

    def _cut(self, name: str, text: str, before: dict[str, Any]) -> Cut:
        """A text that was found to fit when it was written is not counted again."""
        limit, sizes = self._most // _SHARES[name], before.get("tokens")
        known = sizes.get(name) if isinstance(sizes, dict) and before.get(name) == text else None
        if isinstance(known, int) and known <= limit:
            return Cut(text)
        if (name, text) not in self._cuts:
            self._cuts[name, text] = self._sizes.cut(text, limit)
        return self._cuts[name, text]

    def _told(self, name: str, cut: Cut) -> str:
        limit = f"{self._most // _SHARES[name]} tokens is the most (context.max_claude_md_tokens = {self._most})"
        return f"{name}: {cut.left_out} left out; {limit}."


# The context of every session of a feature, brought up to date; written only where it changed.

Document = dict[str, Any] | None
InTurn = Callable[[Callable[[], Document]], Document]


@dataclass(frozen=True)
class Rebuilt:
    """`sources` are the files it was made from that nobody would look for by their names.
    `errors` say whose context could not be written, and why."""

    written: tuple[SessionFolder, ...] = ()
    sources: frozenset[Path] = frozenset()
    errors: tuple[tuple[SessionFolder, DagentdError], ...] = ()

    def problems(self) -> list[Problem]:
        """A full disk is as grave for a context as for any other document; one context that is refused is a note."""
        kinds = [("documents" if isinstance(error, LimitReached) else "context", error) for _, error in self.errors]
        return [Problem.of(kind, error, clock.stamp()) for kind, error in kinds]


def rebuild(
    store: Store, feature: FeatureFolder, settings: Settings, shared: Checkouts, *, fresh: bool = False,
    asked: SessionFolder | None = None,
) -> Rebuilt:  # fmt: skip
    """`fresh` reads everything anew. A session that is paused is left out, unless it is `asked` for. Nothing is written
    in a worktree that is being removed, nor without the lock."""
    paused = store.pauses.now()
    if asked is None and paused.project:
        return Rebuilt()
    checkout = shared.look(feature.tree.worktree, store.project.common_dir, settings, fresh=fresh)
    if checkout is None:
        return Rebuilt()
    parts = shared.parts(feature, store.memory, settings, fresh=fresh)
    begin = time.time_ns()
    plan = Plan(store.project, feature, checkout, parts, settings, shared.ledger)
    written, errors = [], []
    for folder in layout.sessions(feature):
        is_paused = paused.project is not None or folder.id in paused.sessions
        if is_paused and not (asked is not None and _is(folder, asked)):
            continue
        try:
            if _renew(store, folder, plan):
                written.append(folder)
        except DagentdError as error:
            errors.append((folder, error))
    shared.note(feature, None if errors else plan.looked_at, begin)
    return Rebuilt(tuple(written), checkout.rules.elsewhere | parts.elsewhere, tuple(errors))


def is_current(store: Store, folder: SessionFolder, settings: Settings, shared: Checkouts) -> bool:
    """Whether a session's context says what is so now, as far as a few stats can tell."""
    feature = folder.feature
    there = os.path.exists(folder.document("context"))
    return there and shared.is_current(feature, store.project.common_dir, settings)


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
        if (seconds := store.contexts.due(path)) is None:
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
    return read(folder) if store.contexts.due(folder.document("context")) is None else None


def _is(one: SessionFolder, other: SessionFolder) -> bool:
    return (one.path, one.id) == (other.path, other.id)


def read(folder: SessionFolder) -> dict[str, Any] | None:
    try:
        return layout.read_object(folder.document("context"))
    except FileNotFoundError:
        return None


def _renew(store: Store, folder: SessionFolder, plan: Plan) -> bool:
    """The session is not opened for this; one that lies under a task is a session of that task. Nothing while it is
    being made: its first context told an agent of no task, and whoever makes it asks for one afterwards."""
    held = store.sessions.held(folder)
    try:
        known = held.fields if held is not None else layout.read_object(folder.document("session"))
    except FileNotFoundError:
        return False
    session = {"taskId": folder.task_id, **{key: value for key, value in known.items() if value is not None}}
    return store.contexts.renew(folder, partial(plan.renewed, session), session.get("taskId"))
