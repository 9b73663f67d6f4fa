"""How much of the disk dagentd takes in a project: journals, those kept of sessions that are gone, backups."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from dagentd.adapters import clock
from dagentd.model.project import Project
from dagentd.store import layout
from dagentd.store.agx.folder import AgxFolder

_REST = 20
_JOURNAL = re.compile(r"history(_.+)?\.jsonl")
_BACKUP = re.compile(r".+\.backup(\.\d+)?")
_ASIDE = re.compile(r".+\.(corrupt|torn)\.\d+")
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
