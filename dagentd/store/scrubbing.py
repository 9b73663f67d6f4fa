"""Removing a text from all that dagentd has of a project, in place: journals, kept journals, documents, memory.

Each file stays the one that it is, and as long: what others noted about places in it still holds. A copy of a journal
in parts is made anew from the journal."""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from dagentd.adapters.files import atomic, beneath, disk, fileio
from dagentd.errors import DagentdError
from dagentd.model import scrubbed_text
from dagentd.model.project import Project
from dagentd.store.journal import kept_journals
from dagentd.store.layout import layout
from dagentd.store.store import Store

_CACHE = ".sqlite3"  # of which nothing is the only copy: begun anew


def of_project(project: Project) -> list[Path]:
    """The folders in which something of its sessions is."""
    return [project.own_dir, *(tree.path for tree in layout.trees(project))]


def traces(folders: Iterable[Path], wanted: list[bytes]) -> list[scrubbed_text.Trace]:
    return [trace for folder in folders for path in _files(folder) if (trace := _trace(path, wanted)) is not None]


def scrub(store: Store, wanted: list[bytes]) -> None:
    """In all of a project; whoever has it open reads it again."""
    for trace in traces(of_project(store.project), wanted):
        if trace.error is None:
            remove(trace.path, wanted)
    store.remover.begin_indexes_anew()


def remove(path: Path, wanted: list[bytes]) -> None:
    """From one file. Of a part of a journal nothing is left where the journal itself is there; and of all of them where
    that has it: it may begin in one and end in the next."""
    data = _content(path)
    places = scrubbed_text.spans(data, wanted)
    if _is_part(path):
        if kept_journals.entry_of(path).exists():
            _discard([path])
        else:
            atomic.put(path, zlib.compress(scrubbed_text.masked(data, 0, places), 1))
        return
    _discard(kept_journals.sealed_paths(path))  # first: if we die, the journal has the text, and says so
    with disk.explained(path):
        fd = disk.open_in_place(path)
        try:
            for start, length in places:
                disk.overwrite(fd, scrubbed_text.MARK * length, start, path)
            disk.sync(fd, path)
        finally:
            os.close(fd)


def _discard(parts: list[Path]) -> None:
    for path in parts:
        with disk.explained(path):
            disk.remove(path)
            disk.sync_folder(path.parent)


def _trace(path: Path, wanted: list[bytes]) -> scrubbed_text.Trace | None:
    try:
        data = _content(path)
    except FileNotFoundError:
        return None
    except DagentdError as error:
        return scrubbed_text.Trace(path, 0, error.message)
    return scrubbed_text.trace_of(path, data, wanted)


def _content(path: Path) -> bytes:
    data = fileio.read(path, fileio.CHAT_LIMIT)
    try:
        return zlib.decompress(data) if _is_part(path) else data
    except zlib.error:
        return data


def _is_part(path: Path) -> bool:
    return path.suffix == kept_journals.PART


def _files(folder: Path) -> Iterator[Path]:
    """No link is followed. A folder that cannot be listed stands for what is in it: nobody can say that it is clean."""
    try:
        names = sorted(beneath.names(folder))
    except FileNotFoundError:
        return
    except OSError:
        yield folder
        return
    for path in (folder / name for name in names if _CACHE not in name):
        mode = _mode(path)
        if stat.S_ISDIR(mode):
            yield from _files(path)
        elif stat.S_ISREG(mode):
            yield path


def _mode(path: Path) -> int:
    try:
        return beneath.status(path).st_mode
    except OSError:  # gone just now
        return 0
