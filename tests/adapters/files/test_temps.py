"""Temp files: away from the folder that their target is in, and found again after a crash."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from dagentd.adapters.files import atomic, disk, fileio
from dagentd.adapters.files.atomic import Temps, left_beside


@pytest.fixture
def temps(tmp_path: Path) -> Temps:
    made = Temps(tmp_path / "repo" / "temp")
    (tmp_path / "repo" / "documents").mkdir(parents=True)
    made.make()
    return made


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "repo" / "documents" / "chat.json"


def put(path: Path, data: bytes, temps: Temps) -> atomic.Replaced | None:
    expect = fileio.digest(path.read_bytes()) if path.exists() else None
    return atomic.publish(path, [data], expect=expect, sync=False, temps=temps).replaced


def test_nothing_but_the_document_appears_in_its_folder(
    temps: Temps, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []
    monkeypatch.setattr(disk, "step", lambda what, at: seen.append(os.listdir(path.parent)))
    assert put(path, b"one", temps) is None
    replaced = put(path, b"two", temps)
    assert path.read_bytes() == b"two" and replaced is not None and replaced.read() == b"one"
    replaced.close()
    assert {name for names in seen for name in names} == {"chat.json"}
    assert temps.all_left() == []


def test_what_was_replaced_is_found_again_by_its_target(temps: Temps, path: Path) -> None:
    put(path, b"one", temps)
    replaced = put(path, b"two", temps)
    assert replaced is not None
    replaced.leave()
    ((temp, target),) = temps.left([path.with_name("other.json"), path])
    assert target == path and temp.read_bytes() == b"one" and temps.all_left() == [temp]
    assert temps.left([path.with_name("other.json")]) == []


def test_also_after_the_repository_was_moved(temps: Temps, path: Path, tmp_path: Path) -> None:
    put(path, b"one", temps)
    replaced = put(path, b"two", temps)
    assert replaced is not None
    replaced.leave()
    (tmp_path / "repo").rename(tmp_path / "moved")
    moved = tmp_path / "moved" / "documents" / "chat.json"
    assert [target for _, target in Temps(tmp_path / "moved" / "temp").left([moved])] == [moved]


def test_where_nothing_can_be_renamed_from_our_folder_they_are_beside(
    temps: Temps, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    created: list[Path] = []

    def another_file_system(what: str, at: str | Path) -> None:
        if what == "create":
            created.append(Path(at))
        if what == "rename" and created[-1].parent != path.parent:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    monkeypatch.setattr(disk, "step", another_file_system)
    with pytest.raises(atomic.Changed):
        put(path, b"one", temps)
    assert temps.all_left() == [] and not path.exists()
    put(path, b"one", temps)
    assert path.read_bytes() == b"one" and created[-1].parent == path.parent


def test_also_where_our_folder_was_removed(temps: Temps, path: Path) -> None:
    (path.parents[1] / "temp").rmdir()
    put(path, b"one", temps)
    assert path.read_bytes() == b"one" and os.listdir(path.parents[1]) == ["documents"]


def test_a_folder_that_is_gone_is_no_change_to_look_at(temps: Temps, path: Path) -> None:
    path.parent.rmdir()
    with pytest.raises(FileNotFoundError):
        put(path, b"one", temps)
    assert temps.all_left() == [] and not path.parent.exists()


@pytest.mark.usefixtures("temps")
def test_those_beside_name_their_file(path: Path) -> None:
    left = path.with_name(".chat_a.b.json.77-3.dagentd-tmp")
    for other in (left, path, path.with_name(".hidden"), path.with_name("x.dagentd-tmp")):
        other.write_bytes(b"x")
    assert left_beside(path.parent) == [(left, path.with_name("chat_a.b.json"))]


def test_a_folder_that_is_not_there_has_none(tmp_path: Path) -> None:
    assert left_beside(tmp_path / "gone") == [] == Temps(tmp_path / "gone").all_left()
