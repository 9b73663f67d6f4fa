"""The registry: which repositories the user gave to the daemon, in a file of the state folder."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

from dagentd.adapters import clock
from dagentd.adapters.files import atomic, disk, fileio
from dagentd.errors import NotFound
from dagentd.model.project import Project, Registered
from dagentd.store.documents.document_edits import write_document
from dagentd.store.layout.layout import read_object


class Registry:
    def __init__(self, path: Path) -> None:
        self._path = path

    def projects(self) -> list[Registered]:
        return [entry for raw in self._raw() if (entry := _entry(raw)) is not None]

    def add(self, project: Project) -> Registered:
        """The entry of this repository, made if there is none. One that was moved keeps its entry; a copy, whose
        original is still there, gets one of its own."""
        mark = _mark(project)
        known = next((each for each in self.projects() if each.id == mark), None)
        if known and known.project.root != project.root and _mark(known.project) == mark:
            mark, known = _remark(project), None
        entry = Registered(mark or _remark(project), project, known.added_at if known else clock.stamp())
        others = [each for each in self.projects() if each.id != entry.id and each.project.root != project.root]
        self._write([*others, entry])
        return entry

    def remove(self, project: Project) -> None:
        held = self.projects()
        rest = [each for each in held if each.project.root != project.root]
        if len(rest) == len(held):
            raise NotFound("is not registered", path=project.root, hint="dagentd projects")
        self._write(rest)

    def _raw(self) -> list[Any]:
        try:
            held = read_object(self._path).get("projects")
        except FileNotFoundError:
            return []
        return held if isinstance(held, list) else []

    def _write(self, entries: list[Registered]) -> None:
        disk.make_folders(self._path.parent)
        ordered = sorted(entries, key=lambda each: str(each.project.root))
        write_document(self._path, {"projects": [each.raw() for each in ordered]})


def _entry(raw: Any) -> Registered | None:
    if not isinstance(raw, dict) or not all(isinstance(raw.get(key), str) for key in ("id", "root", "commonDir")):
        return None
    project = Project(Path(raw["root"]), Path(raw["commonDir"]))
    return Registered(raw["id"], project, str(raw.get("addedAt", "")))


def _mark(project: Project) -> str | None:
    """The id that the repository carries in its git folder."""
    try:
        return fileio.read(project.own_dir / "id").decode("ascii", "replace").strip() or None
    except FileNotFoundError:
        return None


def _remark(project: Project) -> str:
    mark = uuid.uuid4().hex
    disk.make_folders(project.own_dir)
    atomic.put(project.own_dir / "id", f"{mark}\n".encode())
    return mark
