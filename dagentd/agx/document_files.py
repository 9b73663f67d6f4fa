"""One document of AGX on disk: read when it is whole, checked, replaced by comparison; older ones are migrated."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from dagentd.adapters.files import atomic, disk, fileio, marks
from dagentd.agx import schema
from dagentd.agx.folder import keep_private
from dagentd.agx.values import Raw
from dagentd.errors import Conflict, CorruptFile, NotFound
from dagentd.model import jsontext
from dagentd.model.documents import Document
from dagentd.model.jsontext import Undecodable
from dagentd.store.documents.document_edits import edit_document
from dagentd.store.layout.layout import decoded

_FRESH = 1.0  # seconds for which a file that makes no sense may be one that is being written

Fill = Callable[[Raw], Raw]  # what a document of an older format lacks


def read(path: Path) -> Raw:
    """FileNotFoundError if there is none, CorruptFile if it makes no sense and has stayed so."""
    mark = marks.of(path)
    fresh = mark is not None and 0 <= time.time_ns() - mark[3] < _FRESH * 1e9
    return fileio.read_when_settled(path, partial(decoded, path), _FRESH if fresh else 0.0)


def checked(raw: Raw, path: Path, shape: type[Document], fill: Fill) -> Raw:
    """In today's format; an error for what is newer or has not the form it must have."""
    if schema.is_older(raw, path):
        raw = schema.migrate_document(raw, fill)
    try:
        shape.parse(raw)
    except Undecodable as error:
        raise CorruptFile(str(error), path=path, hint="Mend the file or move it away; it was left as it is.") from None
    return raw


def create(path: Path, raw: Raw) -> None:
    """Conflict if there is one already."""
    try:
        with disk.explained(path):
            atomic.publish(path, [jsontext.pretty(raw)], expect=None, sync=True)
    except atomic.Changed:
        raise Conflict("is there already", path=path, hint="Choose another name.") from None


def edit(path: Path, change: Callable[[Raw], Raw]) -> tuple[Raw, Raw]:
    """Apply a change to what is there now, and to what another program puts there meanwhile; before and after. A
    change that changes nothing writes nothing."""
    seen: list[tuple[Raw, Raw]] = []

    def apply(before: Raw) -> Raw:
        if not os.path.lexists(path):
            raise NotFound("is not there any more", path=path, hint="dagentd agx list")
        after = change(before)
        if after != before:
            keep_private(path, 0o600)
        seen.append((before, after))
        return after

    read(path)  # one that is being written is waited for
    late = edit_document(path, apply, 0.0)
    if late is not None:
        late.finish()
    return seen[-1]


def put(path: Path, raw: Raw) -> None:
    """A document that only we write, or one that was just seen to be absent."""
    with disk.explained(path):
        keep_private(path, 0o600)
        atomic.put(path, jsontext.pretty(raw))
