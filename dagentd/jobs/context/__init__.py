"""Rebuilding contexts: what each session's context should hold, and writing it where it differs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from dagentd.adapters import clock
from dagentd.errors import DagentdError, NotAllowed, NotFound
from dagentd.jobs.context.checkouts import Checkout, View
from dagentd.jobs.context.checkouts import Checkouts as Checkouts
from dagentd.jobs.context.feature_parts import FeatureParts
from dagentd.jobs.scales import Sizes
from dagentd.model import context_document, ids
from dagentd.model.compaction import ralph
from dagentd.model.cutting import Cut
from dagentd.model.project import FeatureFolder, Project, SessionFolder
from dagentd.settings import Settings
from dagentd.store.layout import layout
from dagentd.store.memory import Entry
from dagentd.store.store import Store
from dagentd.waiting import pause

# What a session's context says, from what its worktree and its feature have: decided here, written elsewhere.

# Of context.max_claude_md_tokens, each part may have one part in so many.
_SHARES = {"claudeMd": 1, "agentsMd": 1, "projectMd": 2, "spec": 2, "featureGoal": 10, "taskDescription": 10}
_PLANNERS = ("pm", "feature")  # who is told of all tasks
_NOTES = 50
_REMEMBERED = 50  # of what a user decided, and of what agents noted, the newest


class Plan:
    """For the sessions of one feature: what they share is put together once."""

    def __init__(
        self, project: Project, feature: FeatureFolder, checkout: Checkout, parts: FeatureParts, settings: Settings,
        remembered: Sequence[Entry] = (),
    ) -> None:  # fmt: skip
        self._feature, self._dag, self._sizes = feature, parts.dag, Sizes(settings)
        self.looked_at = {project.memory_file}  # beside those parts
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
            "featureName": context_document.one_line(parts.name), "dagSummary": summary,
            "projectStructure": view.structure, "attachments": parts.attachments or None,
            "remembered": _remembered(remembered) or None,
        }  # fmt: skip
        self._git = _git(view)

    def renewed(self, session: Mapping[str, Any], before: dict[str, Any]) -> dict[str, Any] | None:
        """The context of a session; None if the one before says the same."""
        ours = self._fields(session, before)
        if context_document.is_current(before, ours):
            return None
        return context_document.renewed(before, ours, clock.stamp(), self._sizes.count)

    def _fields(self, session: Mapping[str, Any], before: dict[str, Any]) -> dict[str, Any]:
        about = _about(session, before)
        task = context_document.of_task(about.get("taskId"), about.get("taskState"), self._dag) | self._of_role(about)
        said = self._only_said(session, about)
        task |= {name: before.get(name) or task.get(name) for name in said}
        described = before.get("taskDescription") if "taskTitle" in said else self._described(about)
        given = {**self._texts, "taskDescription": str(described or "")}
        cuts = {name: self._cut(name, text, before) for name, text in given.items()}
        texts = {name: cut.text for name, cut in cuts.items()}
        notes = [*self._notes, *(self._told(name, cut) for name, cut in cuts.items() if cut.left_out)]
        if len(notes) > _NOTES:
            notes = [*notes[:_NOTES], f"There are {len(notes) - _NOTES} more of such notes."]
        found = {**self._shared, **task, **texts, "notes": notes or None}
        return {**{name: value for name, value in found.items() if value not in (None, "")}, **self._git}

    def _only_said(self, session: Mapping[str, Any], about: Mapping[str, Any]) -> tuple[str, ...]:
        """Fields of the graph for which there is none: nobody knows better than what is said already."""
        if self._dag is None:
            return context_document.OF_GRAPH if about.get("taskId") else context_document.OF_FEATURE
        is_theirs = about.get("taskId") and not session.get("taskId")
        return context_document.OF_TASK if is_theirs and self._dag.node(str(about["taskId"])) is None else ()

    def _described(self, session: Mapping[str, Any]) -> str:
        node = self._dag.node(str(session.get("taskId"))) if self._dag is not None else None
        return node.description.strip() if node and isinstance(node.description, str) else ""

    def _of_role(self, session: Mapping[str, Any]) -> dict[str, Any]:
        """The fields that only some roles need: who plans is told of all tasks, who develops how far the plan is."""
        role, task = session.get("agentType"), session.get("taskId")
        if role in _PLANNERS:
            return {"tasks": context_document.tasks(self._dag)}
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
        limit = self._limit(name)
        sizes = before.get("tokens")
        known = sizes.get(name) if isinstance(sizes, dict) and before.get(name) == text else None
        if isinstance(known, int) and known <= limit:
            return Cut(text)
        if (name, text) not in self._cuts:
            self._cuts[name, text] = self._sizes.cut(text, limit)
        return self._cuts[name, text]

    def _limit(self, name: str) -> int:
        return self._most // _SHARES[name]

    def _told(self, name: str, cut: Cut) -> str:
        limit = f"{self._limit(name)} tokens is the most (context.max_claude_md_tokens = {self._most})"
        return f"{name}: {cut.left_out} left out; {limit}."


def _about(session: Mapping[str, Any], before: dict[str, Any]) -> Mapping[str, Any]:
    """A session of a feature may be about a task all the same, as in the documents' example: its app says so there."""
    told = {name: before[name] for name in ("taskId", "taskState") if isinstance(before.get(name), str)}
    return session if session.get("taskId") else {**session, **told}


def _remembered(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    decisions, notes = ([each for each in entries if each.decides is kind][-_REMEMBERED:] for kind in (True, False))
    return [{"id": each.id, "at": each.at, "by": each.by, "text": each.text} for each in (*decisions, *notes)]


def _git(view: View) -> dict[str, Any]:
    """Without a branch HEAD is detached, without a commit there is none yet; without both fields git was not read."""
    if view.head is None:
        return {}
    return {"recentCommits": view.commits, "gitBranch": view.head.branch, "gitCommit": view.head.commit}


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
    parts = shared.parts(feature, settings, fresh=fresh)
    begin = time.time_ns()
    remembered = store.memory.told([feature.id], str(feature.tree.worktree))
    plan = Plan(store.project, feature, checkout, parts, settings, remembered)
    written, errors = [], []
    for folder in layout.sessions(feature):
        if paused.covers(folder.id) and not (asked is not None and _is(folder, asked)):
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
    session = _session(store, folder)
    if session is None:
        return False
    return store.renew_context(folder, partial(plan.renewed, session), session.get("taskId"))


def _session(store: Store, folder: SessionFolder) -> dict[str, Any] | None:
    """The fields of a session, which is not opened for them; one that lies under a task is a session of that task. None
    while it is being made: its first context told an agent of no task, and whoever makes it asks for one afterwards."""
    try:
        known = store.sessions.document(folder) or layout.read_object(folder.document("session"))
    except FileNotFoundError:
        return None
    return {"taskId": folder.task_id, **{key: value for key, value in known.items() if value is not None}}
