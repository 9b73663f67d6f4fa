"""The file of the index: the user's alone, and known to be damaged without being touched."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dagentd.store.journal.index import Index, damage
from dagentd.store.search_index import SearchIndex


@pytest.fixture(autouse=True)
def open_to_all() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.parametrize("made", [Index, SearchIndex])
@pytest.mark.parametrize("damaged", [False, True])
def test_nobody_else_can_read_it(tmp_path: Path, made: type[Index] | type[SearchIndex], damaged: bool) -> None:
    path = tmp_path / "index.sqlite"
    if damaged:
        path.write_bytes(b"no database at all, and longer than its header has to be" * 20)
    found = made(path)
    assert {name.name: oct(name.stat().st_mode & 0o777) for name in tmp_path.iterdir()} == {
        f"index.sqlite{suffix}": "0o600" for suffix in ("", "-wal", "-shm")
    }
    found.close()


def test_damage_is_seen_without_writing(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    assert damage(path) is None
    Index(path).close()
    assert damage(path) is None
    path.write_bytes(path.read_bytes()[:4096] + os.urandom(8192))
    assert damage(path) is not None
    assert [each.name for each in tmp_path.iterdir()] == ["index.sqlite"]
