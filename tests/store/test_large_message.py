"""A large message costs its own bytes once, and not again whenever its project is looked at."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta

import pytest

from dagentd.adapters import clock
from dagentd.jobs import summaries
from dagentd.model import records
from dagentd.settings import Settings
from dagentd.store.layout import rolled_back
from tests.store.served import Served

LARGE = 300_000
Read = Callable[[Callable[[], object]], int]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Read:
    """How many bytes of files somebody reads."""
    count, pread = 0, os.pread

    def counting(fd: int, length: int, offset: int) -> bytes:
        nonlocal count
        data = pread(fd, length, offset)
        count += len(data)
        return data

    def bytes_of(act: Callable[[], object]) -> int:
        before = count
        act()
        return count - before

    monkeypatch.setattr(os, "pread", counting)
    return bytes_of


@pytest.fixture
def large(served: Served) -> Served:
    served.session.add([{"role": "user", "content": "x" * LARGE}])
    served.flush()
    return served


@pytest.fixture
def settled(large: Served, monkeypatch: pytest.MonkeyPatch) -> Served:
    """Looked at when its files were so old that another write must have left another time."""
    later = clock.now() + timedelta(seconds=10)
    monkeypatch.setattr(clock, "now", lambda: later)
    large.store.reconciler.reconcile()
    return large


def test_a_listing_reads_little_of_it(large: Served, read: Read) -> None:
    assert read(lambda: summaries.sessions(large.store, Settings())) < LARGE / 10


def test_a_session_is_found_and_told_of_without_it(large: Served, read: Read) -> None:
    large.session.leave()
    assert read(lambda: large.store.catalogue.find(large.session.id)) < LARGE / 10
    assert read(lambda: large.store.session(large.session.id).document()) < LARGE / 10


def test_a_scan_reads_it_no_more_once_its_files_have_settled(settled: Served, read: Read) -> None:
    assert read(settled.store.reconciler.reconcile) < LARGE / 10


def test_a_scan_still_sees_a_write_of_the_same_length_that_puts_the_time_back(settled: Served) -> None:
    path = settled.folder.document("chat")
    before, times = path.read_bytes(), path.stat()
    path.write_bytes(before.replace(b"x" * LARGE, b"y" * LARGE))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    settled.store.reconciler.reconcile()
    assert settled.session.chat()[-1]["content"] == "y" * LARGE


def test_a_scan_still_sees_a_journal_that_was_overwritten(settled: Served) -> None:
    with settled.journal.open("r+b") as journal:
        journal.seek(-LARGE // 2, os.SEEK_END)
        journal.write(b"z")
    settled.store.reconciler.reconcile()
    assert "journal-altered" in settled.problems()


@pytest.mark.parametrize("torn", [b"", b'{"t": "message"', b'{"t": "message", "message": "' + b"x" * LARGE])
def test_a_session_that_was_taken_back_is_known_by_its_last_whole_record(large: Served, torn: bytes) -> None:
    changes = {"barred": [{"path": "p" * 9000, "sha256": "", "at": ""}], "status": rolled_back.STATUS}
    large.close()
    with large.journal.open("ab") as journal:
        journal.write(records.session(changes, "2026-01-01T00:00:00.000Z").line() + torn)
    assert rolled_back.last_words(large.journal) == changes


def test_a_message_that_ends_like_a_withdrawal_is_none(served: Served) -> None:
    served.session.add([{"role": "user", "content": "x", "metadata": {"status": rolled_back.STATUS}}])
    assert rolled_back.last_words(served.journal) is None
