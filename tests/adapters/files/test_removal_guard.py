"""A new name in a folder that loses others meanwhile: it does not stay, and whoever wanted it hears of it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from dagentd.adapters.files.atomic import RemovalGuard


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "documents"
    (made / "nodes").mkdir(parents=True)
    for name in ("session.json", "other.json", "nodes/task.json"):
        (made / name).write_bytes(b"{}")
    return made


def put(path: Path, gone: Path | None) -> None:
    path.write_bytes(b"new")
    if gone is not None:
        gone.unlink()


def test_a_name_stays_where_nothing_goes(folder: Path) -> None:
    path = folder / "context.json"
    assert RemovalGuard(path, [folder / "session.json"]).admit(partial(put, path, None))
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("name", ["other.json", "nodes/task.json"])
def test_it_does_not_stay_where_anything_goes_meanwhile(folder: Path, name: str) -> None:
    path = folder / "context.json"
    assert not RemovalGuard(path, [folder / "session.json"]).admit(partial(put, path, folder / name))
    assert not path.exists()


def test_nor_is_it_made_where_something_has_gone(folder: Path) -> None:
    path = folder / "context.json"
    around = RemovalGuard(path, [folder / "session.json"])
    (folder / "other.json").unlink()
    assert not around.admit(lambda: pytest.fail("it was made"))


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_what_it_must_be_beside_is_named(folder: Path, when: str) -> None:
    path, session = folder / "context.json", folder / "session.json"
    around = RemovalGuard(path, [session])
    if when == "before":
        session.unlink()
    with pytest.raises(FileNotFoundError, match=r"session\.json"):
        around.admit(partial(put, path, session))
    assert not path.exists()


def test_nobody_minds_one_that_is_beside_nothing(folder: Path) -> None:
    path = folder / "context.json"
    assert RemovalGuard(path, []).admit(partial(put, path, folder / "other.json"))
    assert path.exists()
