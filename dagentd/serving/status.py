"""How the daemon is: what it does, what it spends, what it takes of the disk, and what is wrong."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from dagentd.adapters import clock
from dagentd.adapters.process import usage
from dagentd.agx.folder import AgxFolder
from dagentd.doctor.kinds import is_grave, is_over
from dagentd.jobs.summaries import project as project_summary
from dagentd.model.problem import Problem, each_once
from dagentd.model.project import Project
from dagentd.serving.background_compaction import BackgroundCompaction
from dagentd.settings import Settings
from dagentd.store.layout import layout
from dagentd.store.store import Store
from dagentd.worker import Worker

# How much of the disk dagentd takes in a project: journals, those kept of sessions that are gone, backups.

_REST = 20
_JOURNAL = re.compile(r"history(_.+)?\.jsonl")
_BACKUP = re.compile(r".+\.backup(\.\d+)?")
_ASIDE = re.compile(r".+\.(corrupt|torn|lost)\.\d+")
_NOT_OURS = {"attachments"}  # may hold anything, and nothing of ours

Use = dict[str, int]


class DiskUse:
    """Measured when somebody asks, and then not again for twenty times as long as that took: a live view, which asks
    again and again, costs little however large a project is."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[float, Use]] = {}  # with the time until which it will do

    def of(self, projects: Iterable[Project]) -> dict[Path, Use]:
        known = self._known
        found = {project.root: _renewed(project, known.get(project.root)) for project in projects}
        self._known = found
        return {root: use for root, (_, use) in found.items()}


def _renewed(project: Project, known: tuple[float, Use] | None) -> tuple[float, Use]:
    began = clock.monotonic()
    if known is not None and began < known[0]:
        return known
    use, now = measured(project), clock.monotonic()
    return now + _REST * (now - began), use


def measured(project: Project) -> Use:
    """In bytes. A file with several names counts once: a kept journal is the journal of its session under another
    name, so `kept` is what is left of those whose worktree is gone. What may not be looked into is left out: that it
    is so is a problem of its own."""
    seen: set[tuple[int, int]] = set()
    sizes = {"journals": 0, "kept": 0, "backups": 0, "setAside": 0}
    for kind, entry in _files(project):
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:  # removed at this moment
            continue
        if (file := (status.st_dev, status.st_ino)) not in seen:
            seen.add(file)
            sizes[kind] += status.st_size
    return sizes


def _files(project: Project) -> Iterator[tuple[str, os.DirEntry[str]]]:
    for tree in layout.trees(project):
        yield from _in(tree.path, _kind)
    yield from _in(project.kept_dir, lambda name: "kept" if name.endswith(".jsonl") else "backups")
    yield from _in(AgxFolder(project.root).backups, lambda _: "backups")


def _kind(name: str) -> str | None:
    if _JOURNAL.fullmatch(name):
        return "journals"
    return "backups" if _BACKUP.fullmatch(name) else "setAside" if _ASIDE.fullmatch(name) else None


def _in(folder: Path | str, kind_of: Callable[[str], str | None]) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Files in a folder and below it, links not followed."""
    try:
        with os.scandir(folder) as found:
            entries = list(found)
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if entry.name not in _NOT_OURS:
                yield from _in(entry.path, kind_of)
        elif entry.is_file(follow_symlinks=False) and (kind := kind_of(entry.name)):
            yield kind, entry


class Part(Protocol):
    def problems(self) -> list[Problem]: ...


class Status:
    """Made of what the daemon's parts say of themselves; `own` are its own problems, by what it could not do."""

    def __init__(self, worker: Worker, compacting: BackgroundCompaction, parts: Sequence[Part]) -> None:
        self._worker, self._compacting, self._parts = worker, compacting, parts
        self._disk = DiskUse()
        self.own: dict[str, Problem] = {}

    def problems(self) -> list[Problem]:
        found = [*self.own.values(), *(problem for part in self._parts for problem in part.problems())]
        return each_once(problem for problem in found if not is_over(problem))

    def trouble(self) -> list[str]:
        """The troubles that the user must do something about, in words."""
        failing = [str(each["message"]) for each in self._jobs()["failing"]]
        return failing + [problem.message for problem in self.problems() if is_grave(problem.id)]

    def told(self, settings: Settings) -> dict[str, Any]:
        """For `daemon.status`."""
        jobs, used = self._jobs(), usage()
        return {
            "queues": {"waiting": jobs.pop("queues"), **jobs, "done": self._worker.done},
            "compacting": self._compacting.under_way(),
            "spend": self._spend(settings),
            "problems": [problem.raw() for problem in self.problems()],
            "memory": vars(used) if used else None,
        }

    def projects(self, worktrees: dict[Store, list[str]]) -> list[dict[str, Any]]:
        """Those that are served, each with the names of its worktrees."""
        disk = self._disk.of(store.project for store in worktrees)
        return [
            {**project_summary(store, names), "disk": disk[store.project.root]} for store, names in worktrees.items()
        ]

    def _jobs(self) -> dict[str, list[dict[str, Any]]]:
        """Of both workers: compactions have one of their own, because they may wait for a model."""
        both = self._worker.status(), self._compacting.status()
        return {name: [each for jobs in both for each in jobs[name]] for name in both[0]}

    def _spend(self, settings: Settings) -> dict[str, Any]:
        """Of the last day, beside what it may come to."""
        spent, caps = self._compacting.ledger.spend(), settings.compaction
        return {**vars(spent), "maxCallsPerHour": caps.max_calls_per_hour, "maxTokensPerDay": caps.max_tokens_per_day}
