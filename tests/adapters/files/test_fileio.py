"""Whole files are read without following links or waiting."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dagentd.adapters import clock
from dagentd.adapters.files import fileio, marks
from dagentd.errors import CorruptFile, NotAllowed
from dagentd.model.jsontext import Undecodable, decode

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


# --- a file that another program may be writing --------------------------------------------------------------------


def test_one_that_is_being_written_is_read_when_it_makes_sense(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, writes = tmp_path / "a.json", iter([b"", b"[1", b"[1, 2", b"[1, 2]"])

    def write(_: float) -> None:
        path.write_bytes(next(writes))

    write(0)
    monkeypatch.setattr(fileio, "pause", write)
    assert fileio.read_when_settled(path, decode, 60.0) == [1, 2]


def test_one_that_stays_senseless_is_an_error_after_the_settle_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, waited = tmp_path / "a.json", [0.0]
    path.write_bytes(b"[1")
    monkeypatch.setattr(clock, "monotonic", lambda: waited[0])
    monkeypatch.setattr(fileio, "pause", lambda seconds: waited.append(waited.pop() + seconds))
    for _ in range(2):  # and at once, when it is looked at again
        with pytest.raises(Undecodable):
            fileio.read_when_settled(path, decode, 0.1)
        assert waited[0] == pytest.approx(0.1)
    path.write_bytes(b"[1]")
    assert fileio.read_when_settled(path, decode, 0.1) == [1]


def test_one_that_is_written_all_the_time_is_not_waited_for_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, waited = tmp_path / "a.json", [0.0]
    path.write_bytes(b"[")

    def write(seconds: float) -> None:
        path.write_bytes(path.read_bytes() + b"[")
        waited[0] += seconds

    monkeypatch.setattr(clock, "monotonic", lambda: waited[0])
    monkeypatch.setattr(fileio, "pause", write)
    with pytest.raises(Undecodable):
        fileio.read_when_settled(path, decode, 1.0)
    assert waited[0] == pytest.approx(marks.PATIENCE, abs=0.1)
