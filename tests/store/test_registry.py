"""Which repositories the daemon serves."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from dagentd import paths
from dagentd.adapters.git import project_at
from dagentd.errors import NotFound
from dagentd.store.registry import Registry


@pytest.fixture
def registry(home: Path) -> Registry:
    return Registry(paths.registry_file())


def _roots(registry: Registry) -> list[Path]:
    return [entry.project.root for entry in registry.projects()]


def test_adding_twice_is_adding_once(registry: Registry, repo: Path) -> None:
    first = registry.add(project_at(repo))
    before = paths.registry_file().stat()
    assert registry.add(project_at(repo)) == first
    assert paths.registry_file().stat().st_ino == before.st_ino
    assert _roots(registry) == [repo]


def test_removing(registry: Registry, repo: Path) -> None:
    registry.add(project_at(repo))
    registry.remove(project_at(repo))
    assert _roots(registry) == []
    with pytest.raises(NotFound, match="is not registered"):
        registry.remove(project_at(repo))


def test_a_moved_repository_is_the_same_one(registry: Registry, repo: Path, tmp_path: Path) -> None:
    first = registry.add(project_at(repo))
    repo.rename(tmp_path / "moved")
    again = registry.add(project_at(tmp_path / "moved"))
    assert (again.id, again.added_at) == (first.id, first.added_at)
    assert _roots(registry) == [tmp_path / "moved"]


def test_a_copy_is_another_one(registry: Registry, repo: Path, tmp_path: Path) -> None:
    first = registry.add(project_at(repo))
    shutil.copytree(repo, tmp_path / "copy")
    second = registry.add(project_at(tmp_path / "copy"))
    assert second.id != first.id
    assert _roots(registry) == sorted([repo, tmp_path / "copy"])
    assert registry.add(project_at(repo)).id == first.id


def test_nonsense_in_the_file_hides_nothing_else(registry: Registry, repo: Path) -> None:
    registry.add(project_at(repo))
    text = paths.registry_file().read_text().replace('"projects": [', '"projects": [7, {"root": "/x"}, ')
    paths.registry_file().write_text(text)
    assert _roots(registry) == [repo]
