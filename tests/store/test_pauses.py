"""Pauses on disk: they outlive everything but their own time, and what cannot be read pauses all."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from dagentd.adapters import clock, git
from dagentd.errors import LimitReached
from dagentd.model.project import Project
from dagentd.store import pauses
from dagentd.store.pauses import Pauses
from tests.conftest import SampleProject

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
Later = Callable[[float], None]


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Later:
    """Set the clock so many seconds after noon."""

    def set_clock(seconds: float) -> None:
        monkeypatch.setattr(clock, "now", lambda: START + timedelta(seconds=seconds))

    set_clock(0)
    return set_clock


@pytest.fixture
def where(project: SampleProject) -> Project:
    found = git.project_at(project.root)
    found.own_dir.mkdir()
    return found


def test_one_of_a_session_leaves_the_others(where: Project, later: Later) -> None:
    Pauses(where).begin("a", None)
    read = Pauses(where)
    assert read.on("a") and not read.on("b") and not read.of_project()
    Pauses(where).begin(None, None)
    assert read.on("a") and read.on("b") and read.of_project()
    assert Pauses(where).end(None) and not Pauses(where).end(None)
    assert read.on("a") and not read.on("b")
    assert Pauses(where).end("a") and not Pauses(where).end("a")
    assert not read.on("a") and not where.paused_file.exists()


def test_its_time_ends_it(where: Project, later: Later) -> None:
    held = Pauses(where)
    assert held.begin("a", 60).raw() == {"since": "2026-01-01T12:00:00.000Z", "until": "2026-01-01T12:01:00.000Z"}
    held.begin("b", None)
    later(59)
    assert held.on("a") and not held.drop_ended()
    later(60)
    assert not held.on("a") and held.on("b") and not held.end("a")
    held.begin("a", 1)
    later(61)
    assert list(held.now().sessions) == ["b"]
    assert held.drop_ended() and not held.drop_ended()
    assert b'"a"' not in where.paused_file.read_bytes() and b'"b"' in where.paused_file.read_bytes()


def test_a_second_one_replaces_the_first(where: Project, later: Later) -> None:
    held = Pauses(where)
    held.begin(None, 60)
    later(10)
    held.begin(None, 5)
    later(15)
    assert not held.of_project()


@pytest.mark.parametrize("content", [b"{", b"[]", b"\x00\x00"])
def test_what_cannot_be_read_pauses_the_project_and_says_so(content: bytes, where: Project) -> None:
    where.paused_file.write_bytes(content)
    held = Pauses(where)
    assert held.of_project() and held.on("a")
    [problem] = held.problems()
    assert problem.path == str(where.paused_file) and "dagentd resume" in problem.hint
    held.begin("a", None)
    assert held.on("a") and held.problems() == []
    assert (where.own_dir / "paused.json.corrupt.1").read_bytes() == content
    where.paused_file.write_bytes(content)
    assert held.end(None)
    assert not held.of_project() and not where.paused_file.exists() and held.problems() == []


def test_what_could_not_be_read_for_a_moment_is_read_again(where: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """For want of a descriptor the whole project was paused, until somebody paused or resumed anything in it."""
    Pauses(where).begin("a", None)
    held = Pauses(where)
    with monkeypatch.context() as patch:
        patch.setattr(pauses, "read_object", refused)
        assert held.of_project() and held.problems()
    assert not held.of_project() and held.on("a") and held.problems() == []


def refused(_: Path) -> dict[str, Any]:
    raise LimitReached("too many files are open")


def test_what_makes_no_sense_in_it_is_no_pause(where: Project) -> None:
    where.paused_file.write_text('{"project": 7, "sessions": {"a": {"since": "no"}, "b": null}}')
    assert not Pauses(where).of_project() and not Pauses(where).on("a") and not Pauses(where).on("b")
    where.paused_file.write_text('{"sessions": {"a": {"since": "2026-01-01T00:00:00Z", "until": "some day"}}}')
    assert Pauses(where).on("a")


def test_all_who_pause_at_once_are_heard(where: Project) -> None:
    pauses, names = Pauses(where), [f"s{number}" for number in range(24)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda name: pauses.begin(name, None), names))
    assert sorted(pauses.now().sessions) == sorted(names)
