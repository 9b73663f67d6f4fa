"""What a session's context says, from what its worktree and its feature have: decided here, written elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dagentd.adapters import clock
from dagentd.errors import DagentdError
from dagentd.jobs.context.checkouts import Checkout
from dagentd.jobs.context.feature_parts import FeatureParts
from dagentd.jobs.sizes import Sizes
from dagentd.model import context, ids, plan
from dagentd.model.cutting import Cut
from dagentd.model.project import FeatureFolder, Project
from dagentd.settings import Settings
from dagentd.store import layout

# Of context.max_claude_md_tokens, each part may have one part in so many.
_SHARES = {"claudeMd": 1, "agentsMd": 1, "projectMd": 2, "spec": 2, "featureGoal": 10, "taskDescription": 10}
_PLANNERS = ("pm", "feature")  # who is told of all tasks
_ATTACHED, _BYTES_PER_TOKEN = 4, 3
_NOTES = 50


def attachment_room(settings: Settings) -> int:
    """For the texts of all attachments together, in bytes."""
    return settings.context.max_claude_md_tokens // _ATTACHED * _BYTES_PER_TOKEN


class Plan:
    """For the sessions of one feature: what they share is put together once."""

    def __init__(
        self, project: Project, feature: FeatureFolder, checkout: Checkout, parts: FeatureParts, settings: Settings
    ) -> None:
        self._feature, self._dag, self._sizes = feature, parts.dag, Sizes(settings)
        self.looked_at = set[Path](parts.looked_at)
        self._most = settings.context.max_claude_md_tokens
        self._notes = [*checkout.notes, *parts.notes]
        self._texts = {
            "claudeMd": checkout.claude_md, "agentsMd": checkout.agents_md, "projectMd": checkout.project_md,
            "spec": parts.spec, "featureGoal": parts.goal,
        }  # fmt: skip
        self._cuts: dict[tuple[str, str], Cut] = {}
        self._shared = {
            "projectRoot": str(project.root), "worktree": str(feature.tree.worktree), "featureId": feature.id,
            "featureName": context.one_line(parts.name), "dagSummary": _summary(parts),
            "projectStructure": checkout.structure, "attachments": parts.attachments or None,
        }  # fmt: skip
        self._git = _git(checkout)

    def renewed(self, session: Mapping[str, Any], before: dict[str, Any]) -> dict[str, Any] | None:
        """The context of a session; None if the one before says the same."""
        ours = self._fields(session, before)
        if context.is_current(before, ours):
            return None
        return context.renewed(before, ours, clock.stamp(), self._sizes.count)

    def _fields(self, session: Mapping[str, Any], before: dict[str, Any]) -> dict[str, Any]:
        about = _about(session, before)
        task = context.of_task(about.get("taskId"), about.get("taskState"), self._dag) | self._of_role(about)
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
            return context.OF_GRAPH if about.get("taskId") else context.OF_FEATURE
        is_theirs = about.get("taskId") and not session.get("taskId")
        return context.OF_TASK if is_theirs and self._dag.node(str(about["taskId"])) is None else ()

    def _described(self, session: Mapping[str, Any]) -> str:
        node = self._dag.node(str(session.get("taskId"))) if self._dag is not None else None
        return node.description.strip() if node and isinstance(node.description, str) else ""

    def _of_role(self, session: Mapping[str, Any]) -> dict[str, Any]:
        """What only some need: who plans is told of all tasks, who develops how far the plan is."""
        role, task = session.get("agentType"), session.get("taskId")
        if role in _PLANNERS:
            return {"tasks": context.tasks(self._dag)}
        if role != "dev" or not isinstance(task, str) or not ids.is_safe(task):
            return {}
        path = self._feature.task_dir(task) / "plan.json"
        self.looked_at.add(path)
        try:
            return {"plan": plan.progress(layout.read_object(path))}
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


def _summary(parts: FeatureParts) -> str | None:
    return parts.dag.summary() if parts.dag is not None and parts.dag.nodes else None


def _git(checkout: Checkout) -> dict[str, Any]:
    """Without a branch HEAD is detached, without a commit there is none yet; without both fields git was not read."""
    if checkout.head is None:
        return {}
    commit = {"gitBranch": checkout.head.branch, "gitCommit": checkout.head.commit}
    return {"recentCommits": checkout.commits, **commit}
