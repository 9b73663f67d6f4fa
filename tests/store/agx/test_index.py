"""The global index: in step with the session files of all projects, healed when damaged, written only for a reason."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NoReturn

import pytest

from dagentd.adapters import clock
from dagentd.adapters.files import lockfile
from dagentd.errors import Conflict
from tests.jobs.context.contexts import Steps
from tests.model.agx.seed import example
from tests.store.agx.agx import Store, home, read


@pytest.fixture
def two(store: Store, tmp_path: Path) -> Store:
    """Two projects with two sessions each."""
    other = tmp_path / "other"
    shutil.copytree(store.root, other)
    store.roots.append(other)
    for root in store.roots:
        for name in ("main", "side"):
            store.agx.new(root, name)
    return store


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> object:
    def days(count: float) -> None:
        now = datetime.now(UTC) + timedelta(days=count)
        monkeypatch.setattr(clock, "now", lambda: now)

    return days


def names(store: Store) -> list[tuple[str, str]]:
    return [(Path(each["projectPath"]).name, each["sessionId"]) for each in store.index["sessions"]]


ALL = [("other", "main"), ("other", "side"), ("repo", "main"), ("repo", "side")]


def test_it_has_every_session_and_counts_right(two: Store) -> None:
    assert names(two) == ALL
    held = two.index["statistics"]
    size = sum(path.stat().st_size for root in two.roots for path in (root / ".agx" / "sessions").glob("*.json"))
    assert (held["totalProjects"], held["totalSessions"], held["activeSessionsCount"]) == (2, 4, 2)
    assert held["diskUsage"] == f"{size / 1000:.1f}".removesuffix(".0") + "KB"
    assert held["lastCleanup"] is None
    two.agx.cleanup(two.root, ["main"])
    held = two.index["statistics"]
    assert (held["totalSessions"], held["activeSessionsCount"]) == (3, 2) and held["lastCleanup"] is not None


@pytest.mark.parametrize("damage", [b"", b"{", b"\0\0", b"[]", b'{"version": "1.0.0", "sessions": 5}',
                                    b'{"version": "1.0.0", "sessions": [1]}', None])  # fmt: skip
def test_one_that_is_damaged_or_gone_is_made_anew(two: Store, damage: bytes | None) -> None:
    if damage is None:
        two.index_file.unlink()
    else:
        two.index_file.write_bytes(damage)
    two.again().updated([two.root])
    assert names(two) == ALL, "also of the projects that nothing happened to"
    held = list(home().glob("index.json.corrupt.*"))
    assert [each.read_bytes() for each in held] == ([] if damage is None else [damage])


def test_the_process_that_knew_it_heals_it_too(two: Store) -> None:
    for number in range(6):
        two.index_file.write_bytes(b"%d" % number)
        two.agx.check_all()
        assert names(two) == ALL
    assert len(list(home().glob("index.json.corrupt.*"))) == 3, "bounded"


def test_a_newer_one_is_refused_and_left(two: Store) -> None:
    newer = json.dumps({**two.index, "version": "2.0.0"})
    two.index_file.write_text(newer)
    for act in (two.again().check_all, two.agx.index, lambda: two.agx.updated([two.root])):
        with pytest.raises(Conflict, match=r"its format is 2\.0\.0"):
            act()
    assert two.index_file.read_text() == newer


def test_an_older_one_is_migrated_beside_a_backup(two: Store) -> None:
    old = {"sessions": [], "theirs": 1, "statistics": {"lastCleanup": "2025-01-23T02:00:00Z"}}
    two.index_file.write_text(json.dumps(old))
    two.again().check_all()
    assert names(two) == ALL
    assert two.index["version"] == "1.0.0" and two.index["theirs"] == 1
    assert two.index["statistics"]["lastCleanup"] == "2025-01-23T02:00:00Z"
    assert [read(each) for each in (home() / "backups").iterdir()] == [old]


def test_what_others_wrote_into_it_stays(two: Store) -> None:
    raw = two.index
    raw["theirs"] = {"x": 1}
    raw["sessions"][0]["theirs"] = 2
    raw["sessions"][0]["git"]["ahead"] = 3
    raw["configuration"]["maxIndexAge"] = "9d"
    foreign = {**example("index")["sessions"][0], "sessionFile": str(two.root / "README.md"),
               "projectPath": str(two.root.parent)}  # fmt: skip
    raw["sessions"].append(foreign)
    two.index_file.write_text(json.dumps(raw))
    for agx in (two.agx, two.again()):
        agx.switch(two.roots[1], "main")
        agx.check_all()
        assert two.index["theirs"] == {"x": 1} and two.index["configuration"]["maxIndexAge"] == "9d"
        found = next(each for each in two.index["sessions"] if each.get("theirs") == 2)
        assert found["git"]["ahead"] == 3 and found["status"]["state"] == "active"
        assert foreign in two.index["sessions"], "its file is there, so it stays"
    (two.root / "README.md").unlink()
    two.agx.check_all()
    assert foreign not in two.index["sessions"]


def test_another_programs_way_of_writing_the_same_is_left(two: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = two.index
    raw["sessions"].reverse()
    two.index_file.write_text(json.dumps(raw))
    steps = Steps(monkeypatch)
    for agx in (two.agx, two.again()):
        agx.check_all()
        agx.updated(two.roots)
    assert steps.taken() == []
    assert two.index_file.read_text() == json.dumps(raw)


def test_what_others_changed_wrongly_is_put_right(two: Store) -> None:
    raw = two.index
    raw["sessions"][0]["status"]["state"] = "completed"
    del raw["sessions"][1]
    raw["statistics"]["totalSessions"] = 99
    two.index_file.write_text(json.dumps(raw))
    two.agx.check_all()
    assert names(two) == ALL
    assert two.index["sessions"][0]["status"]["state"] == "paused" and two.index["statistics"]["totalSessions"] == 4


def test_entries_of_a_project_that_vanished_stay_for_a_time(two: Store, later: object) -> None:
    assert callable(later)
    gone = two.roots[1].rename(two.root.parent / "away")
    two.agx.check_all()
    assert names(two) == ALL
    missing = [each for each in two.index["sessions"] if "missingSince" in each["status"]]
    assert len(missing) == 2 and not any(each["status"]["isActive"] for each in missing)
    later(6)
    two.again().check_all()
    assert names(two) == ALL
    gone.rename(two.roots[1])
    two.again().check_all()
    assert names(two) == ALL and "missingSince" not in two.index_file.read_text(), "it was back in time"
    two.roots[1].rename(gone)
    two.again().check_all()
    later(14)
    two.again().check_all()
    assert names(two) == [("repo", "main"), ("repo", "side")]
    assert two.index["statistics"]["totalProjects"] == 1


def test_a_project_whose_agx_folder_was_removed_is_dropped_at_once(two: Store) -> None:
    shutil.rmtree(two.roots[1] / ".agx")
    two.agx.updated([two.roots[1]])
    assert names(two) == [("repo", "main"), ("repo", "side")]


def test_its_time_alone_is_renewed_only_before_it_is_too_old(
    two: Store, later: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert callable(later)
    before = two.index["lastSync"]
    later(3)
    steps = Steps(monkeypatch)
    two.agx.check_all()
    assert steps.taken() == [] and two.index["lastSync"] == before
    later(4)
    two.agx.check_all()
    assert two.index["lastSync"] > before


def test_it_is_not_kept_where_it_is_not_wanted(two: Store) -> None:
    raw = two.index
    raw["configuration"]["autoIndexing"] = False
    two.index_file.write_text(json.dumps(raw))
    two.agx.archive(two.root, "main")
    two.agx.check_all()
    assert json.loads(two.index_file.read_text()) == raw
    two.agx.index()
    assert two.index["sessions"][2]["status"]["state"] == "archived", "asked for"
    two.index_file.unlink()
    (home() / "config.json").write_text(json.dumps({"version": "1.0.0", "storage": {"enableGlobalIndex": False}}))
    two.again().switch(two.root, "side")
    assert not two.index_file.exists()


def test_statistics_are_left_where_they_are_not_wanted(two: Store) -> None:
    raw = two.index
    raw["configuration"]["enableStatistics"] = False
    raw["statistics"] = {"theirs": 1}
    two.index_file.write_text(json.dumps(raw))
    two.agx.archive(two.root, "main")
    assert two.index["statistics"] == {"theirs": 1}


def test_one_change_reads_one_session_and_writes_once(two: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    from dagentd.agx import document_files

    two.write("main", {**two.session("main"), "lastAccessed": "2030-01-01T00:00:00Z"})
    read_files: list[Path] = []
    real = document_files.read

    def reading(path: Path) -> dict[str, Any]:
        read_files.append(path)
        return real(path)

    monkeypatch.setattr(document_files, "read", reading)
    steps = Steps(monkeypatch)
    two.agx.updated([two.root])
    assert [path for path in read_files if path.name != "config.json"] == [two.folder.sessions / "main.json"]
    assert [what for what, path in steps.taken() if path == two.index_file] == ["rename"]
    assert two.index["sessions"][2]["status"]["lastAccessed"] == "2030-01-01T00:00:00Z"


def test_a_rebuild_asks_no_git(two: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    two.index_file.unlink()
    two.again().index(rebuild=True)
    assert names(two) == ALL
    assert two.index["sessions"][2]["git"]["commit"] == git_commit(two)


def git_commit(store: Store) -> str:
    return (store.root / ".git" / "refs" / "heads" / "main").read_text()[:12]


def test_one_project_that_is_barred_leaves_the_others(two: Store, tmp_path: Path) -> None:
    shutil.rmtree(two.root / ".agx")
    (two.root / ".agx").symlink_to(tmp_path)
    path = two.roots[1] / ".agx" / "sessions" / "main.json"
    path.write_text(path.read_text().replace('"description": ""', '"description": "new"'))
    two.agx.updated(two.roots)
    assert two.index["sessions"][0]["metadata"]["description"] == "new"
    assert [error.path for error in two.agx.problems()] == [str(two.root / ".agx")]
    assert names(two) == ALL, "what is known of it stays"
    (two.root / ".agx").unlink()
    two.agx.updated(two.roots)
    assert two.agx.problems() == [] and names(two) == [("other", "main"), ("other", "side")]


@contextlib.contextmanager
def another_holds_the_lock() -> Iterator[None]:
    """A program that lives."""
    held = home() / ".index.lock"
    held.write_text(f"{os.getppid()} {clock.stamp()}")
    try:
        yield
    finally:
        held.unlink()


def test_a_command_that_is_done_does_not_fail_because_of_the_index(two: Store) -> None:
    """`agx new` ended with an error after five seconds, although the session was made."""
    with another_holds_the_lock():
        raw = two.agx.new(two.root, "late")
        assert two.current == "late" and names(two) == ALL
        assert "index is behind" in raw["note"] and str(os.getppid()) in raw["note"]
        assert "note" not in two.session("late")
        assert [error.path for error in two.agx.problems()] == [str(home() / ".index.lock")], "told in status"
        assert [each.session_id for each in two.agx.cleanup(two.root, ["side"])] == ["side"]
    assert two.agx.is_behind()
    two.agx.updated([])
    assert names(two) == [*ALL[:2], ("repo", "late"), ("repo", "main")]
    assert two.index["statistics"]["lastCleanup"] is not None, "that there was one was not forgotten"
    assert not two.agx.is_behind() and not two.agx.problems()


def test_the_next_check_catches_up(two: Store) -> None:
    with another_holds_the_lock():
        two.agx.archive(two.root, "side")
    two.again().check_all()
    assert two.indexed()["side"] == "archived"
    two.agx.check_all()
    assert not two.agx.is_behind()


@pytest.mark.parametrize(("wanted", "tries"), [(None, 4), (0, 1), (2, 3), ("x", 4)])
def test_it_is_tried_as_often_as_the_index_says(
    two: Store, monkeypatch: pytest.MonkeyPatch, wanted: object, tries: int
) -> None:
    configuration = {**two.index["configuration"], "syncFailureRetries": wanted}
    two.index_file.write_text(json.dumps({**two.index, "configuration": configuration}))
    asked: list[Path] = []

    def held(path: Path, wait: float | None = None) -> NoReturn:
        asked.append(path)
        raise lockfile.Busy("held", path=path)

    two.write("main", {**two.session("main"), "lastAccessed": "2031-01-01T00:00:00Z"})
    monkeypatch.setattr(lockfile, "held", held)
    with pytest.raises(lockfile.Busy):
        two.agx.updated([two.root])
    assert len(asked) == tries
