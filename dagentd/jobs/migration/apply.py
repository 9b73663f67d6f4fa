"""Migrating one session: backed up, brought in, read back and compared, and only then noted as done."""

from __future__ import annotations

from typing import Any

from dagentd.adapters import clock
from dagentd.errors import Conflict
from dagentd.jobs.migration.reading import Found
from dagentd.model import times
from dagentd.store import legacy
from dagentd.store.importing import Imported
from dagentd.store.links import Link
from dagentd.store.session import Session
from dagentd.store.store import Store
from dagentd.store.withdrawing import barred, migrations


def apply(store: Store, found: Found, keep: int, settle: float) -> int:
    """How many messages were new. `Changed` if another program wrote to a file meanwhile: look again."""
    feature, documents = found.unit[0].feature, found.documents()
    by_app = found.unit[0].document is None and legacy.is_backed_up(found.unit[0].path, found.contents[0].data)
    for file, content, now in zip(found.unit, found.contents, found.current, strict=True):
        if content.data == now:
            legacy.back_up(file.path, content.data, keep, store.temps)
        if (shaped := documents[file.document]) is not None and not file.begun:
            legacy.rewrite(file.path, now, shaped, store.temps)
    imported = store.importer.bring_in(feature, found.converted, found.unit[0], by_app)
    try:
        if imported.made:
            _complete(store, found, imported.session, keep)
        if not (imported.made and _missing(imported.session) is None):  # one that was made before a failure has none
            imported.session.reconcile()  # so that the documents are there to be compared
        _verify(store, found, imported, settle)
        _note(imported.session, found)
    finally:
        imported.session.leave()
    return len(imported.added)


def _complete(store: Store, found: Found, session: Session, keep: int) -> None:
    """Linked like any new session; what it is linked in can be put back to the byte."""
    link = Link.of(session.folder.feature, session.id, found.converted.fields)
    legacy.back_up_before(link.path, link.change, keep, store.temps)
    store.importer.complete(session, found.converted)


# --- verifying ------------------------------------------------------------------------------------------------


def _verify(store: Store, found: Found, imported: Imported, settle: float) -> None:
    """The four points of the format's own notes: the new files are there, content and order are kept, times make
    sense, and there is a backup of what was read."""
    folder = imported.session.folder
    if (name := _missing(imported.session)) is not None:
        raise _wrong(found, f"the {name} document of {folder.id} was not written")
    if not store.importer.shows(imported.session, imported.added):
        _verify_read(store, found, imported, settle)
    if not all(times.parse(raw["timestamp"]) for raw in found.converted.messages):
        raise _wrong(found, "a time was not converted")
    for file, content in zip(found.unit, found.contents, strict=True):
        if not legacy.is_backed_up(file.path, content.data):
            raise _wrong(found, "there is no backup")


def _missing(session: Session) -> str | None:
    return next((name for name in ("session", "chat") if not session.folder.document(name).exists()), None)


def _verify_read(store: Store, found: Found, imported: Imported, settle: float) -> None:
    """Content and order by what the chat says, whoever wrote it; a message may have left it already."""
    folder = imported.session.folder
    shown = {raw["id"]: raw for raw in legacy.read_back(folder.document("chat"), settle)["messages"]}
    wanted = {raw["id"]: raw for raw in found.converted.messages if raw["id"] in imported.added}
    if [one for one in shown if one in wanted] != [one for one in wanted if one in shown]:
        raise _wrong(found, f"the messages are in another order in {folder.id}")
    if any(shown[one] != raw for one, raw in wanted.items() if one in shown):
        raise _wrong(found, f"a message is not the same in {folder.id}")
    if lost := store.importer.lacking(imported.session, [one for one in imported.added if one not in shown]):
        raise _wrong(found, f"{len(lost)} messages are not in {folder.id}")


def _wrong(found: Found, what: str) -> Conflict:
    return Conflict(
        f"its migration could not be verified: {what}", path=found.unit[0].path,
        hint="The original and its backup are untouched. `dagentd migrate --rollback` takes it back.",
    )  # fmt: skip


# --- noting ---------------------------------------------------------------------------------------------------


def _note(session: Session, found: Found) -> None:
    """The source with its hash: as long as it is the same, nothing is to be done. Of one that grew, the time is still
    that of the first migration: they are taken back in the order in which sessions were linked."""
    now, sources = clock.stamp(), {file.source.path for file in found.unit}
    since = {each["path"]: each.get("at", now) for each in migrations(session.fields)}
    entries = [
        {"path": path, "sha256": content.sha256, "messages": _count(found, file.document), "at": since.get(path, now)}
        for file, content in zip(found.unit, found.contents, strict=True)
        for path in (file.source.path,)
    ]
    kept = [each for each in migrations(session.fields) if each["path"] not in sources]
    changes: dict[str, Any] = {"migratedFrom": [*kept, *entries]}
    bars = barred(session.fields)
    if any(each["path"] in sources for each in bars):
        changes["barred"] = [each for each in bars if each["path"] not in sources]
    session.set(**changes)


def _count(found: Found, document: str | None) -> int:
    return len(found.converted.messages) if document in (None, "chat") else 0
