"""Which commands of projects the user has seen and allowed, by their content: in the state folder."""

from __future__ import annotations

from pathlib import Path

from dagentd import paths
from dagentd.adapters import disk
from dagentd.errors import CorruptFile
from dagentd.store.layout import read_object
from dagentd.store.own_documents import write_document

_MOST = 20  # contents of one project that are remembered


def is_confirmed(root: Path, digest: str) -> bool:
    return digest in _held().get(str(root), [])


def confirm(root: Path, digest: str) -> None:
    file = paths.agx_confirmed_file()
    with disk.explained(file):
        disk.make_folders(file.parent)
    held = _held()
    known = [each for each in held.get(str(root), []) if each != digest]
    write_document(file, {"projects": {**held, str(root): [*known, digest][-_MOST:]}})


def _held() -> dict[str, list[str]]:
    """What makes no sense confirms nothing."""
    try:
        found = read_object(paths.agx_confirmed_file()).get("projects")
    except (FileNotFoundError, CorruptFile):
        return {}
    if not isinstance(found, dict):
        return {}
    return {root: [str(each) for each in some] for root, some in found.items() if isinstance(some, list)}
