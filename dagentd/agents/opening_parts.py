"""The parts of what an agent is told when it begins, each from where it is kept."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from dagentd.adapters import clock
from dagentd.adapters.git.command import checkout_status, commits_between
from dagentd.agents import neighbours
from dagentd.agents.conversation import Agent
from dagentd.agents.followed import Followed
from dagentd.agents.neighbours import Checkout, Neighbours
from dagentd.agents.sessions import Document
from dagentd.agents.table import AGENTS
from dagentd.errors import DagentdError
from dagentd.jobs import briefs, summaries
from dagentd.jobs.context import feature_parts
from dagentd.model import opening
from dagentd.model.compaction.items import Record, in_words, items_of, record_of
from dagentd.model.feature import Dag, Node, stage
from dagentd.model.opening import Base, Feature, Work
from dagentd.model.project import FeatureFolder, SessionFolder
from dagentd.settings import Settings
from dagentd.store.layout import layout
from dagentd.store.store import Store

_LATEST = 200  # messages since the last checkpoint that are summed up while the agent waits
_WHOLE, _IN_SHORT = (50_000, 2_000), (150_000, 100)  # characters of them, and of what a tool was given or gave back
_RECORD = 8_000  # tokens that a record may have, of which the first lines are told
_RECENT, _PINNED = 50, 5  # conversations in which is looked for pins, and that have some
_FEATURES, _TASKS, _COMMITS = 5, 3, 8

Part = dict[str, Any]  # fields of `Known`


@dataclass(frozen=True)
class Asked:
    """Which agent begins, how, and where."""

    agent: Agent
    uuid: str
    source: str
    transcript: Path | None  # where it says that its own is
    store: Store
    where: Checkout

    @property
    def id(self) -> str:
        return f"{self.agent.prefix}-{self.uuid}"


def in_vain(job: Callable[[], object]) -> None:
    """Whoever shows that file or repository says what is wrong with it."""
    with contextlib.suppress(DagentdError, OSError):
        job()


class Look:
    """One answer's view of what there is."""

    def __init__(
        self, asked: Asked, followed: Followed, near: Neighbours, settings: Settings, before: Part | None = None
    ) -> None:
        """`before`: what was found the last time, which stands in for what takes longer until that is found again."""
        self._known: Part = before or {}
        self.asked, self._store, self._where = asked, asked.store, asked.where
        self._followed, self._sessions, self._near, self._settings = followed, followed.sessions, near, settings
        self._worktree = str(asked.where.path)
        self._is_quick = True
        self.behind: list[str] = []  # conversations whose checkpoint is not of all that was said

    def run(self, found: Callable[[Part], object]) -> None:
        """One after the other, the most important first, and again with what takes longer: who waits no longer has
        what there is. One that cannot be read costs only itself."""
        own = {"compact": self._compacted, "resume": self._since, "startup": self._before, "clear": self._before}
        mine = own.get(self.asked.source, dict)
        self._find((self._decided, self._feature, mine, self._pinned, self._neighbours), found)
        self._is_quick = False
        self._find((mine, self._neighbours), found)

    def _find(self, parts: Iterable[Callable[[], Part]], found: Callable[[Part], object]) -> None:
        for part in parts:
            in_vain(lambda part=part: found(part()))  # type: ignore[misc]

    # --- what is shared -----------------------------------------------------------------------------------------

    @cached_property
    def _features(self) -> list[FeatureFolder]:
        return self._store.catalogue.features()

    @property
    def _mine(self) -> list[FeatureFolder]:
        return [each for each in self._features if str(each.tree.worktree) == self._worktree]

    @cached_property
    def _conversations(self) -> dict[str, list[Document]]:
        """By worktree, the last active first."""
        places = [str(path) for path in neighbours.checkouts(self._store.project)]
        found: dict[str, list[Document]] = {}
        real: dict[str, str] = {}
        for about, cwd in self._sessions.of_project(str(self._store.project.root)):
            folder = real[cwd] = real.get(cwd) or os.path.realpath(cwd)
            above = [each for each in places if folder == each or folder.startswith(f"{each}/")]
            found.setdefault(max(above, key=len, default=""), []).append(about)
        return found

    # --- its parts ----------------------------------------------------------------------------------------------

    def _decided(self) -> Part:
        told = self._store.memory.told([each.id for each in self._mine], self._worktree)[::-1]
        decided, noted = ([each.text for each in told if each.decides is kind] for kind in (True, False))
        return {"decided": decided, "noted": noted}

    def _feature(self) -> Part:
        """Where several are open in a worktree, each without its spec: nobody knows which is meant."""
        newest = sorted((each for each in self._mine if not _has_ended(each)), key=_changed, reverse=True)
        found = [_feature_of(feature_parts.read(each)) for each in newest[:_FEATURES]]
        return {"features": [replace(each, spec="") for each in found] if len(found) > 1 else found}

    def _pinned(self) -> Part:
        """Of what was said in this worktree, but for this conversation: it has its own, or is told of them apart."""
        others = [each["id"] for each in self._conversations.get(self._worktree, []) if each["id"] != self.asked.id]
        pinned = [each for each in others[:_RECENT] if self._sessions.state(self._sessions.find(each)).has_pins]
        texts = [text for each in pinned[:_PINNED] for text in self._pins(each)]
        for feature in self._mine:
            for folder in layout.sessions(feature):
                texts += [in_words(item) for item in _kept_record(folder).items if item.pinned]
        return {"pinned": texts}

    def _neighbours(self) -> Part:
        found = self._near.of(self._where, self._store.project, self._working, files=not self._is_quick)
        if self._is_quick:
            shared = {each.worktree: each.shared for each in self._known.get("neighbours", [])}
            found = [replace(each, shared=shared.get(each.worktree, ())) for each in found]
        return {"neighbours": found}

    @cached_property
    def _working(self) -> dict[Path, dict[str, Any]]:
        """The work under way, by worktree: when something was last said there, by which agent, and the goal."""
        said = {Path(path): self._at_work(found[0]) for path, found in self._conversations.items() if path}
        for each in self._features:
            feature = summaries.feature(self._store, each)
            told = said.setdefault(each.tree.worktree, {})
            told["goal"] = told.get("goal") or feature.get("description") or feature.get("name")
        return said

    def _at_work(self, about: Document) -> dict[str, Any]:
        return {"at": about["lastActiveAt"], "agent": self._title(about), "goal": about["title"]}

    def _title(self, about: Document) -> str:
        return AGENTS[about["agent"]].title

    def _before(self) -> Part:
        """The last conversation, and the last session of ours."""
        others = [each for each in self._conversations.get(self._worktree, []) if each["id"] != self.asked.id]
        found = [self._work(others[0])] if others else []
        listed = [(summaries.session(self._store, folder, self._settings), folder)
                  for feature in self._mine for folder in layout.sessions(feature)]  # fmt: skip
        if listed:
            about, folder = max(listed, key=lambda each: str(each[0].get("updatedAt") or ""))
            at = str(about.get("updatedAt") or "")
            found.append(_in_short(about["id"], "dagentd", at, self._record_of_ours(folder), ""))
        found = [each for each in found if each.about or each.open or each.failing]
        return {"earlier": sorted(found, key=lambda each: each.at, reverse=True)}

    def _work(self, about: Document) -> Work:
        at = str(about["lastActiveAt"] or "")
        known: list[Work] = self._known.get("earlier", []) if self._is_quick else []
        for work in known:
            if (work.id, work.at) == (about["id"], at):
                return work
        record = self._record(about["id"])
        return _in_short(about["id"], self._title(about), at, record, str(about.get("title") or ""))

    def _compacted(self) -> Part:
        """The agent's summary comes last, and may not have been written yet."""
        if not self._is_quick:
            self._followed.take_in(self.asked.agent, self.asked.uuid, self.asked.transcript)
        record, summary = self._record(self.asked.id), self._sessions.summary(self.asked.id)
        said, _ = self._sessions.messages(self.asked.id, _LATEST)
        is_new = not any(each["role"] == "assistant" for each in said)  # else it is of a compaction before this one
        work = _in_short(self.asked.id, self.asked.agent.title, "", record, "")
        work = self._known.get("compacted", work) if self._is_quick else work
        work = replace(work, orders=list(dict.fromkeys([*self._pins(self.asked.id), *work.orders])))
        return {"compacted": work, "summary": summary.text if summary is not None and is_new else ""}

    def _since(self) -> Part:
        """The commits on this branch, and on the one that it came from, since this conversation was last at work."""
        mine = (each for found in self._conversations.values() for each in found if each["id"] == self.asked.id)
        last = next((each["lastActiveAt"] for each in mine), None)
        if last is None or not self._is_quick:
            return {}
        self.behind.append(self.asked.id)
        commits = self._committed(last, "HEAD")
        base, name = self._base()
        moved = Base(name, self._committed(last, f"HEAD..{base}")) if base else Base()
        return {"commits": commits, "base": moved}

    def _base(self) -> tuple[str, str]:
        """Its commit or reference, and its name: the main checkout's branch, there the one that it follows."""
        root = self._store.project.root
        if self._where.path == root:
            remote = checkout_status(root).remote or ""
            return remote, remote
        main = neighbours.checkout(root, self._store.project)
        return (main.head.commit or "", main.head.branch or "") if main is not None else ("", "")

    def _committed(self, since: str, of: str) -> list[str]:
        found = commits_between(self._where.path, since, clock.stamp(), own=self._where.own, of=of)
        return [f"{sha} {subject}" for sha, subject in found[: -_COMMITS - 1 : -1]]

    # --- records ------------------------------------------------------------------------------------------------

    def _record(self, session_id: str) -> Record:
        """Its checkpoint with what was said since, as much of that as is read at once."""
        before = self._sessions.state(self._sessions.find(session_id)).checkpoint or {}
        if self._is_quick:
            return record_of(before)
        said = self._sessions.after(session_id, before.get("readUntil"), _LATEST)
        if said:
            self.behind.append(session_id)
        return _summed_up(before, said)

    def _pins(self, session_id: str) -> list[str]:
        """All that was pinned in it, messages and items of its checkpoint."""
        items = items_of(self._sessions.state(self._sessions.find(session_id)).checkpoint)
        return [*self._sessions.pinned(session_id), *(in_words(item) for item in items if item.pinned)]

    def _record_of_ours(self, folder: SessionFolder) -> Record:
        if self._is_quick:
            return _kept_record(folder)
        with self._store.sessions.use(folder) as session:
            return _summed_up(session.checkpoint(), session.messages(_LATEST)[0])


def _kept_record(folder: SessionFolder) -> Record:
    try:
        return record_of(layout.read_object(folder.document("checkpoint")))
    except FileNotFoundError:
        return Record()


def _summed_up(before: Mapping[str, Any] | None, said: list[Document]) -> Record:
    """The newest whole, those before them without what tools were given and gave back: to look for secrets in all of
    that takes most of the time. One that is longer than all of that was pasted."""
    found: list[Document] = []
    used = 0
    for each in reversed(said):
        _, longest = _WHOLE if used < _WHOLE[0] else _IN_SHORT
        short = {**each, "metadata": _without_long(each.get("metadata", {}), longest)}
        if (size := len(str(short))) < _WHOLE[0] and used + size < _IN_SHORT[0]:
            found.append(short)
            used += size
    return briefs.summed_up(dict(before or {}), found[::-1], _RECORD, _about_tokens)


def _without_long(value: Any, longest: int) -> Any:
    """A text is there or is not: a secret that is cut in two is not known as one."""
    if isinstance(value, dict):
        return {key: _without_long(each, longest) for key, each in value.items()}
    if isinstance(value, list):
        return [_without_long(each, longest) for each in value]
    return "" if isinstance(value, str) and len(value) > longest else value


def _about_tokens(text: str) -> int:
    """To load the vocabulary takes longer than an agent may wait."""
    return len(text) // 4


def _in_short(ident: str, agent: str, at: str, record: Record, title: str) -> Work:
    of: dict[str, list[str]] = {name: [] for name in ("decisions", "inProgress", "pending", "blockers")}
    for item in sorted(record.items, key=lambda item: item.pinned):
        if item.list in of:
            of[item.list].insert(0, in_words(item))
    return Work(ident, agent, at, record.goal or title, of["decisions"], [*of["inProgress"], *of["pending"]],
                of["blockers"])  # fmt: skip


def _feature_of(parts: feature_parts.FeatureParts) -> Feature:
    dag = parts.dag
    counted = dag.summary() if dag is not None and dag.nodes else ""
    return Feature(parts.name or "", parts.goal, _tasks(dag) if dag is not None else [], counted, parts.spec)


def _changed(feature: FeatureFolder) -> float:
    """When something last came, went or was written anew in its folder."""
    try:
        return os.stat(feature.path, follow_symlinks=False).st_mtime
    except OSError:
        return 0.0


def _has_ended(feature: FeatureFolder) -> bool:
    try:
        return layout.read_object(feature.path / "feature.json").get("status") in ("completed", "archived")
    except (FileNotFoundError, DagentdError):
        return False


def _tasks(dag: Dag) -> list[str]:
    """Those that are worked on."""
    found = [node for node in dag.nodes if isinstance(node.id, str) and stage(node.status) == "in progress"]
    return [
        opening.task(_title(node), "in progress", node.description if isinstance(node.description, str) else "",
                     [_dependency(dag, each) for each in dag.dependencies(node.id)])
        for node in found[:_TASKS]
    ]  # fmt: skip


def _dependency(dag: Dag, task: str) -> tuple[str, str]:
    node = dag.node(task)
    return (_title(node), stage(node.status)) if node is not None else (task, "unknown")


def _title(node: Node) -> str:
    return node.title if isinstance(node.title, str) and node.title.strip() else str(node.id)
