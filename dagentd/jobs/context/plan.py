"""What a session's context says, from what its worktree and its feature have: decided here, written elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dagentd.adapters import clock
from dagentd.jobs.context.checkouts import Checkout
from dagentd.jobs.context.feature_parts import FeatureParts
from dagentd.jobs.sizes import Sizes
from dagentd.model import context
from dagentd.model.cutting import Cut
from dagentd.model.project import FeatureFolder, Project
from dagentd.settings import Settings

# Of context.max_claude_md_tokens, each part may have one part in so many.
_SHARES = {"claudeMd": 1, "agentsMd": 1, "projectMd": 2, "spec": 2, "featureGoal": 10}
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
        self._dag, self._sizes = parts.dag, Sizes(settings)
        self._most = settings.context.max_claude_md_tokens
        self._notes = [*checkout.notes, *parts.notes]
        self._texts = {
            "claudeMd": checkout.claude_md, "agentsMd": checkout.agents_md, "projectMd": checkout.project_md,
            "spec": parts.spec, "featureGoal": parts.goal,
        }  # fmt: skip
        self._cuts: dict[str, Cut] = {}
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
        cuts = {name: self._cut(name, before) for name in _SHARES}
        task = context.of_task(session.get("taskId"), session.get("taskState"), self._dag)
        texts = {name: cut.text for name, cut in cuts.items()}
        notes = [*self._notes, *(self._told(name, cut) for name, cut in cuts.items() if cut.left_out)]
        if len(notes) > _NOTES:
            notes = [*notes[:_NOTES], f"There are {len(notes) - _NOTES} more of such notes."]
        found = {**self._shared, **task, **texts, "notes": notes or None}
        return {**{name: value for name, value in found.items() if value not in (None, "")}, **self._git}

    def _cut(self, name: str, before: dict[str, Any]) -> Cut:
        """A text that was found to fit when it was written is not counted again."""
        text, limit = self._texts[name], self._limit(name)
        sizes = before.get("tokens")
        known = sizes.get(name) if isinstance(sizes, dict) and before.get(name) == text else None
        if isinstance(known, int) and known <= limit:
            return Cut(text)
        if name not in self._cuts:
            self._cuts[name] = self._sizes.cut(text, limit)
        return self._cuts[name]

    def _limit(self, name: str) -> int:
        return self._most // _SHARES[name]

    def _told(self, name: str, cut: Cut) -> str:
        limit = f"{self._limit(name)} tokens is the most (context.max_claude_md_tokens = {self._most})"
        return f"{name}: {cut.left_out} left out; {limit}."


def _summary(parts: FeatureParts) -> str | None:
    return parts.dag.summary() if parts.dag is not None and parts.dag.nodes else None


def _git(checkout: Checkout) -> dict[str, Any]:
    """Without a branch HEAD is detached, without a commit there is none yet; without both fields git was not read."""
    if checkout.head is None:
        return {}
    commit = {"gitBranch": checkout.head.branch, "gitCommit": checkout.head.commit}
    return {"recentCommits": checkout.commits, **commit}
