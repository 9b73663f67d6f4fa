"""Whole files are read without following links or waiting."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dagentd.adapters.files import fileio
from dagentd.errors import CorruptFile, NotAllowed

pytestmark = pytest.mark.usefixtures("no_descriptor_is_left_open")


def test_what_is_no_regular_file_is_refused_at_once(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(b"secret")
    path.symlink_to(other)
    with pytest.raises(NotAllowed) as caught:
        fileio.read(path)
    assert str(path) in str(caught.value) and caught.value.hint
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(NotAllowed, match="regular file"):
        fileio.read(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(NotAllowed):
        fileio.read(path)


def test_too_large_is_said_and_not_read(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(fileio.DOCUMENT_LIMIT + (1 << 20))
    with pytest.raises(CorruptFile, match="17 MiB") as caught:
        fileio.read(path)
    assert caught.value.path == str(path) and caught.value.hint
