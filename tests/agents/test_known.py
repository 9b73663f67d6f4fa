"""The cache of transcripts, beside another process that writes to it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from dagentd.agents.known import Known
from dagentd.errors import LimitReached


def test_who_reads_what_is_known_waits_for_nobody_who_writes(tmp_path: Path) -> None:
    """The process that takes in much may hold the cache for as long as it gets no turn on a busy machine."""
    path = tmp_path / "known.sqlite3"
    known = Known(path)
    known._db.execute("pragma busy_timeout = 0")  # who has to wait fails at once
    first = known.read("claude-code", "a", 0)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("begin immediate")
    try:
        assert known.read("claude-code", "a", 0) == first
        with pytest.raises(LimitReached):
            known.read("claude-code", "new", 0)
    finally:
        other.close()
        known.close()
