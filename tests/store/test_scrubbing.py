"""Scrubbing: a text is taken out of every file of a project in place, and no other byte of any."""

from __future__ import annotations

import errno
import zlib
from pathlib import Path

import pytest

from dagentd.adapters.files import beneath
from dagentd.model.scrubbed_text import forms
from dagentd.store import scrubbing
from dagentd.store.journal import kept_journals
from tests.store.served import Served

SECRET = 'key-"ä/1234'


def test_a_text_leaves_every_file_and_the_session_goes_on(served: Served, tmp_path: Path) -> None:
    session, wanted = served.session, forms(SECRET)
    session.add([{"id": "m1", "role": "user", "content": f"it is {SECRET}"}])
    session.update_checkpoint({"summary": {"decisions": [f"use {SECRET}"]}})
    session.reconcile()
    journal, kept = served.journal, served.kept[0]
    gone = kept.with_name("pm-gone.1.jsonl")
    parts = [entry.with_name(f"{entry.stem}.0-9.z") for entry in (kept, gone)]
    for part in parts:
        part.write_bytes(zlib.compress(SECRET.encode()))
    outside = tmp_path / "outside.txt"
    outside.write_text(SECRET)
    (served.folder.path / "link.txt").symlink_to(outside)
    named = served.folder.path / "named.json"
    named.write_text(f'{{"id": "{SECRET[:3]}", "key-name": "x"}}')
    before = journal.stat()

    session.close()
    scrubbing.scrub(served.store, wanted)
    scrubbing.scrub(served.store, forms("key-name"))
    found = scrubbing.traces(scrubbing.of_project(served.project), wanted + forms("key-name"))
    assert [(trace.path, trace.error is None) for trace in found] == [(named, False)]
    assert outside.read_text() == SECRET and not parts[0].exists()
    assert zlib.decompress(parts[1].read_bytes()) == b"*" * len(SECRET.encode())
    assert (journal.stat().st_ino, journal.stat().st_size) == (before.st_ino, before.st_size)
    again = served.store.session(session.id)
    assert [each["content"][:8] for each in again.history()[0]] == ["it is **"]


def test_a_text_that_begins_in_one_part_of_a_journal_and_ends_in_the_next(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither of them has it, and both together do."""
    monkeypatch.setattr(kept_journals, "_PART", 9)
    monkeypatch.setattr(kept_journals, "_AT_CLOSE", 1 << 20)
    served.session.add([{"id": "m1", "role": "user", "content": f"it is {SECRET}"}])
    served.session.close()
    copy = kept_journals.SealedCopy(served.kept[0]).read(0, 1 << 20)
    assert copy == served.journal.read_bytes() and any(form in copy for form in forms(SECRET))
    scrubbing.scrub(served.store, forms(SECRET))
    copy = kept_journals.SealedCopy(served.kept[0]).read(0, 1 << 20)
    assert not any(form in copy for form in forms(SECRET))
    served.store.session(served.session.id).close()
    assert kept_journals.SealedCopy(served.kept[0]).read(0, 1 << 20) == served.journal.read_bytes()


def test_a_folder_that_cannot_be_listed_is_told(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    closed, listed = served.folder.path, beneath.names

    def names(path: str | Path) -> list[str]:
        if Path(path) == closed:
            raise PermissionError(errno.EACCES, "Permission denied")
        return listed(path)

    monkeypatch.setattr(beneath, "names", names)
    found = scrubbing.traces(scrubbing.of_project(served.project), forms(SECRET))
    assert [(trace.path, trace.error is None) for trace in found] == [(closed, False)]
