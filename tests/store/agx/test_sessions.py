"""The sessions of a project on disk: whole, private, backed up, migrated, and never lost."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from dagentd.adapters import clock
from dagentd.agx.agx import Agx
from dagentd.agx.folder import AgxFolder, keep_private
from dagentd.agx.values import changed
from dagentd.errors import Conflict, CorruptFile, DagentdError, InvalidInput, NotAllowed, NotFound
from tests.jobs.context.contexts import Steps
from tests.model.agx.seed import example
from tests.store.agx.agx import Store, home, read, snapshot

NEWER = {**example("session"), "version": "2.0.0"}
DAMAGED: dict[str, bytes] = {
    "empty": b"", "half": b'{"version": "1.0.0", "sess', "nul": b"\0" * 40, "list": b"[]", "text": b"hello",
    "twice": b'{"version": "1.0.0", "version": "1.0.0"}', "not utf-8": b'{"a": "\xff"}', "deep": b"[" * 5000,
}  # fmt: skip


def seeded(store: Store, name: str = "main", **more: Any) -> Path:
    return store.write(name, {**example("session"), "sessionId": name, **more})


def test_the_example_is_written_back_equal_but_for_what_changed(store: Store) -> None:
    path = seeded(store)
    store.agx.claude(store.root, "xyz", "main")
    after, before = read(path), example("session")
    assert list(after) == list(before)
    for part in ("version", "sessionId", "created", "project", "tmux", "metadata", "lifecycle"):
        assert json.dumps(after[part]) == json.dumps(before[part]), part
    assert list(after["statistics"]) == list(before["statistics"])
    assert after["claude"]["sessionId"] == "xyz" and list(after["claude"]) == list(before["claude"])
    assert after["lastModified"] > before["lastModified"]
    assert path.read_text().startswith('{\n  "version": "1.0.0",\n  "sessionId": "main",\n')


def test_unknown_fields_live(store: Store) -> None:
    theirs = changed({**example("session"), "theirs": {"a": [1, None]}}, "tmux", "config", more="x")
    path = store.write("main", changed(theirs, "lifecycle", "autoCleanup", mine=1))
    store.agx.archive(store.root, "main")
    store.agx.restore(store.root, "main")
    after = read(path)
    assert after["theirs"] == {"a": [1, None]} and after["tmux"]["config"]["more"] == "x"
    assert after["lifecycle"]["autoCleanup"]["mine"] == 1


def test_all_is_private(store: Store) -> None:
    (store.root / ".agx" / "sessions").mkdir(parents=True, mode=0o755)
    path = seeded(store)
    path.chmod(0o644)
    store.agx.archive(store.root, "main")
    store.agx.new(store.root, "other")
    store.agx.cleanup(store.root, ["main"])
    for folder in (store.root / ".agx", home()):
        for each in (folder, *folder.rglob("*")):
            assert each.stat().st_mode & 0o777 == (0o700 if each.is_dir() else 0o600), each
    assert {path.parent.name for path in (store.root / ".agx").rglob("*.json")} == {"sessions", "backups", "trash"}


def test_what_changes_nothing_writes_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.agx.new(store.root)
    store.agx.index()
    store.agx.settle(store.root)
    store.agx.check(store.root)
    steps = Steps(monkeypatch)
    for each in (store.agx, store.again()):
        each.settle(store.root)
        each.check(store.root)
        each.check_all()
        each.updated([store.root])
        each.listed(store.root)
        each.get(store.root)
    assert steps.taken() == []


def test_removed_sessions_are_in_the_trash_and_come_back(store: Store) -> None:
    path = seeded(store, "side", theirs=1)
    store.agx.new(store.root, "other")
    before = read(path)
    store.agx.cleanup(store.root, ["side"])
    assert not path.exists()
    assert [read(each) for each in (store.root / ".agx" / "trash").iterdir()] == [before]
    assert store.indexed() == {"other": "active"}
    store.agx.restore(store.root, "side")
    assert read(path) == before and store.indexed() == {"other": "active", "side": "active"}
    assert list((store.root / ".agx" / "trash").iterdir()) == []
    with pytest.raises(NotFound):
        store.agx.restore(store.root, "never")


def test_the_newest_of_a_name_comes_back_and_nothing_is_written_over(store: Store) -> None:
    store.agx.new(store.root, "other")
    for number in range(3):
        seeded(store, "side", number=number)
        store.agx.cleanup(store.root, ["side"])
    seeded(store, "side", number=3)
    store.agx.restore(store.root, "side")
    assert store.session("side")["number"] == 3, "it was there, and not archived"
    (store.folder.sessions / "side.json").unlink()
    store.agx.restore(store.root, "side")
    assert store.session("side")["number"] == 2


def test_the_current_session_is_not_removed(store: Store) -> None:
    store.agx.new(store.root, "main")
    with pytest.raises(Conflict, match="is the current session"):
        store.agx.cleanup(store.root, ["main"])
    store.agx.archive(store.root, "main")
    assert not (store.folder.sessions / ".current").exists()
    store.agx.cleanup(store.root, ["main"])


def test_as_many_backups_stay_as_the_user_wants(store: Store) -> None:
    home().mkdir()
    (home() / "config.json").write_text(json.dumps({**example("global-config"), "session": {"backupCount": 3}}))
    seeded(store, "side")
    store.agx.new(store.root, "side.1")
    for number in range(5):
        store.write("side", {**store.session("side"), "number": number})
        store.agx.archive(store.root, "side")
        store.agx.restore(store.root, "side")
    held = sorted((store.root / ".agx" / "backups").iterdir())
    assert len(held) == 3
    assert [read(each)["number"] for each in held] == [3, 4, 4]
    assert all(each.name.startswith("side.20") and each.name.endswith("Z.json") for each in held)


def test_an_older_one_is_migrated_beside_a_backup(store: Store) -> None:
    old = {"sessionId": "main", "theirs": 1, "metadata": {"notes": "x"}}
    store.write("main", old)
    store.write("nine", {**example("session"), "version": "0.9.0", "sessionId": "nine"})
    store.agx.settle(store.root)
    assert store.session("main")["version"] == store.session("nine")["version"] == "1.0.0"
    assert store.session("main")["theirs"] == 1 and store.session("main")["lifecycle"]["state"] in ("created", "active")
    held = {each.name.split(".")[0]: read(each) for each in (store.root / ".agx" / "backups").iterdir()}
    assert held["main"] == old and held["nine"]["version"] == "0.9.0"
    again = snapshot(store.root / ".agx")
    store.agx.settle(store.root)
    assert snapshot(store.root / ".agx") == again


def test_one_that_is_completed_is_so_until_somebody_goes_on_with_it(store: Store) -> None:
    store.agx.new(store.root, "main")
    held = store.agx.complete(store.root, "main")["lifecycle"]
    assert held["state"] == "completed" and held["stateHistory"][-1]["reason"] == "completed_by_user"
    assert store.indexed() == {"main": "completed"} and not (store.folder.sessions / ".current").exists()
    assert store.agx.switch(store.root, "main")["lifecycle"]["state"] == "active"


def test_only_one_session_is_the_default(store: Store) -> None:
    def defaults() -> list[str]:
        return [each["sessionId"] for each in store.index["sessions"] if each["isDefault"]]

    store.write("dev", changed(example("session"), sessionId="dev"))
    store.agx.new(store.root, "main")
    assert defaults() == ["main"]
    config = {"version": "1.0.0", "project": {"defaultSessionVariant": "dev"}}
    (store.root / ".agx" / "config.json").write_text(json.dumps(config))
    store.agx.settle(store.root)
    store.agx.updated([store.root])
    assert defaults() == ["dev"]


@pytest.mark.parametrize(
    ("where", "field", "value"),
    [(("lifecycle",), "state", "busy"), (("lifecycle",), "state", ["active"]), ((), "lastAccessed", "yesterday"),
     (("tmux",), "lastAttached", "2025-13-01"), (("lifecycle", "autoCleanup"), "lastCleanupCheck", "never")],
)  # fmt: skip
def test_states_and_times_are_checked(store: Store, where: tuple[str, ...], field: str, value: Any) -> None:
    path = store.write("main", changed(example("session"), *where, **{field: value}))
    told = rf"{field}': should be (one of created, active|a time, as 2025-01-24T)"
    with pytest.raises(CorruptFile, match=told) as refused:
        store.agx.get(store.root, "main")
    assert refused.value.path == str(path)


@pytest.mark.parametrize("version", ["1.0.1", "1.1.0"])
def test_a_later_one_of_the_same_major_is_worked_with_and_keeps_what_it_added(store: Store, version: str) -> None:
    added = {"pinned": {"by": "them"}, "version": version}
    store.write("main", {**example("session"), **added})
    store.agx.switch(store.root, "main")
    store.agx.index()
    later = {**store.index, "version": version, "added": [1]}
    store.index_file.write_text(json.dumps(later))
    store.agx.archive(store.root, "main")
    raw = store.session("main")
    assert raw["lifecycle"]["state"] == "archived" and {key: raw[key] for key in added} == added
    assert (store.index["version"], store.index["added"], store.indexed()) == (version, [1], {"main": "archived"})


@pytest.mark.parametrize("act", ["get", "switch", "archive", "restore", "claude"])
def test_a_newer_one_is_refused_and_left_as_it_is(store: Store, act: str) -> None:
    path = store.write("main", NEWER)
    before = snapshot(store.root / ".agx")
    given = {"claude": ("abc", "main")}.get(act, ("main",))
    with pytest.raises(Conflict, match=r"written by a newer AGX: its format is 2\.0\.0") as refused:
        getattr(store.agx, act)(store.root, *given)
    assert refused.value.path == str(path) and "Update dagentd" in refused.value.hint
    with pytest.raises(Conflict):
        store.agx.settle(store.root)
    store.agx.check_all()
    assert snapshot(store.root / ".agx")["sessions/main.json"] == before["sessions/main.json"]


@pytest.mark.parametrize("kind", DAMAGED)
def test_a_damaged_one_is_left_and_told_of_and_the_others_work(store: Store, kind: str) -> None:
    store.agx.new(store.root, "main")
    path = store.folder.sessions / "bad.json"
    path.write_bytes(DAMAGED[kind])
    os.utime(path, (0, 0))
    for act in (store.agx.get, store.agx.switch, store.agx.archive, store.agx.restore):
        with pytest.raises(CorruptFile) as refused:
            act(store.root, "bad")
        assert refused.value.path == str(path)
    assert [each["sessionId"] for each in store.agx.listed(store.root)] == ["main"]
    store.agx.check_all()
    assert [error.path for error in store.agx.problems()] == [str(path)]
    store.agx.settle(store.root)
    assert path.read_bytes() == DAMAGED[kind]
    assert store.indexed() == {"main": "active"}
    path.unlink()
    store.agx.check_all()
    assert store.agx.problems() == []


def test_one_that_comes_back_is_not_worked_in_before_somebody_switches_to_it(store: Store) -> None:
    """Its backup is of a time at which somebody did."""
    store.agx.new(store.root)
    store.agx.archive(store.root, "main")
    store.agx.new(store.root, "side")
    store.folder.session_file("main").write_text("{")
    assert [path for path in store.folder.backups.iterdir() if read(path)["lifecycle"]["state"] == "active"]
    assert store.agx.restore(store.root, "main")["lifecycle"]["state"] == "paused"
    assert store.current == "side" and store.indexed() == {"main": "paused", "side": "active"}


def test_a_damaged_one_comes_back_from_its_newest_backup(store: Store) -> None:
    store.agx.new(store.root, "main")
    seeded(store, "side")
    store.agx.archive(store.root, "side")
    path = store.folder.sessions / "side.json"
    path.write_bytes(b"{ half")
    os.utime(path, (0, 0))
    store.agx.check_all()
    assert store.indexed()["side"] == "archived", "what is there is not forgotten"
    assert store.agx.restore(store.root, "side")["sessionId"] == "side"
    assert path.with_name("side.json.corrupt.1").read_bytes() == b"{ half"
    assert read(path) == {**example("session"), "sessionId": "side"}, "as it was before it was archived"


def test_one_that_is_being_written_is_waited_for(store: Store) -> None:
    path = seeded(store)
    whole = path.read_bytes()
    path.write_bytes(whole[:100])
    threading.Timer(0.15, path.write_bytes, [whole]).start()
    assert store.agx.get(store.root, "main")["sessionId"] == "main"


@pytest.mark.parametrize("change", [{"metadata": []}, {"metadata": {"tags": "x"}}, {"lifecycle": {"stateHistory": [1]}},
                                    {"sessionId": "other"}, {"tmux": {"windowCount": "many"}}])  # fmt: skip
def test_what_has_not_the_form_is_damaged_too(store: Store, change: dict[str, Any]) -> None:
    path = store.write("main", {**example("session"), **change})
    with pytest.raises(CorruptFile):
        store.agx.archive(store.root, "main")
    assert read(path) == {**example("session"), **change}


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".current", "x" * 300, "a\0b", "-"])
def test_names_do_not_become_paths_unchecked(store: Store, name: str) -> None:
    store.agx.new(store.root, "main")
    for act in (store.agx.switch, store.agx.archive, store.agx.restore):
        with pytest.raises(InvalidInput):
            act(store.root, name)
    if name:
        with pytest.raises(InvalidInput):
            store.agx.new(store.root, name)


@pytest.mark.parametrize("below", ["", "sessions"])
def test_a_folder_that_leads_out_of_the_project_is_refused(store: Store, below: str, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    link = store.root / ".agx" / below
    link.parent.mkdir(exist_ok=True)
    Path(str(link).rstrip("/")).symlink_to(outside)
    with pytest.raises(NotAllowed, match="leads out of the project"):
        store.agx.new(store.root, "main")
    with pytest.raises(NotAllowed):
        store.agx.settle(store.root)
    assert os.listdir(outside) == []


@pytest.mark.parametrize("below", ["", "sessions"])
def test_a_folder_that_is_exchanged_after_the_look_leads_nowhere(
    store: Store, below: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look that is over before the use sees nothing of it."""
    victim = Store(Path(shutil.copytree(store.root, tmp_path / "victim")))
    for each, secret in ((store, "ours"), (victim, "only the victim's")):
        each.agx.new(each.root, "main", secret)
    before = {path: path.read_bytes() for path in victim.folder.path.rglob("*") if path.is_file()}
    folder = Path(str(store.root / ".agx" / below).rstrip("/"))
    folder.rename(tmp_path / "moved")
    folder.symlink_to(victim.root / ".agx" / below)
    monkeypatch.setattr(AgxFolder, "is_there", lambda self: os.path.isdir(self.path))
    told: list[object] = []
    acts: list[Callable[[Agx], object]] = [
        lambda agx: agx.listed(store.root),
        lambda agx: agx.get(store.root, "main"),
        lambda agx: agx.new(store.root, "second"),
        lambda agx: agx.archive(store.root, "main"),
        lambda agx: agx.settle(store.root),
    ]
    for act in acts:
        try:
            told.append(act(store.again()))
        except DagentdError as error:
            told.append(str(error))
    assert "only the victim's" not in json.dumps(told, default=str)
    assert {path: path.read_bytes() for path in victim.folder.path.rglob("*") if path.is_file()} == before


def test_the_users_own_folder_may_be_a_link(store: Store, tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    home().symlink_to(tmp_path / "kept")
    store.agx.new(store.root, "main")
    store.agx.check_all()
    assert (tmp_path / "kept" / "index.json").exists()


def test_a_session_file_that_is_a_link_is_not_followed(store: Store, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(json.dumps(example("session")))
    store.agx.new(store.root, "other")
    (store.folder.sessions / "main.json").symlink_to(secret)
    with pytest.raises(NotAllowed, match="symbolic link"):
        store.agx.archive(store.root, "main")
    assert json.loads(secret.read_text()) == example("session")


def test_a_lock_of_a_live_process_holds_us_up_and_is_named(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dagentd.adapters.files.lockfile.PATIENCE", 0.1)
    store.agx.new(store.root, "main")
    with subprocess.Popen(["sleep", "60"]) as other:
        lock = store.folder.lock_file
        lock.write_text(json.dumps({"pid": other.pid, "timestamp": "2025-01-24T14:45:00Z", "born": None}))
        lock.write_text(f"{other.pid} {datetime.now(UTC).isoformat()}")
        before = snapshot(store.root / ".agx")
        with pytest.raises(Conflict, match=f"process {other.pid} has held this lock"):
            store.agx.archive(store.root, "main")
        assert snapshot(store.root / ".agx") == before
        assert store.agx.get(store.root, "main")["sessionId"] == "main", "reading waits for nobody"
        other.kill()
    assert store.agx.archive(store.root, "main")["lifecycle"]["state"] == "archived"


def test_what_is_written_without_the_lock_is_not_lost(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """It renames its version into place just before we rename ours."""
    from dagentd.adapters.files import disk

    store.agx.new(store.root, "main")
    path = store.folder.sessions / "main.json"
    done: list[int] = []

    def step(what: str, where: object) -> None:
        if what == "rename" and Path(str(where)) == path and not done:
            done.append(1)
            store.write("main", {**store.session("main"), "theirs": 1})

    monkeypatch.setattr(disk, "step", step)
    store.agx.claude(store.root, "abc", "main")
    assert done and store.session("main")["theirs"] == 1 and store.session("main")["claude"]["sessionId"] == "abc"


WRITER = """
import sys
from pathlib import Path
from dagentd.adapters import clock
from dagentd.agents.resumable import Resumable
from dagentd.agx.agx import Agx
from dagentd.agx.values import changed
from dagentd.settings import Settings
root, name = Path(sys.argv[1]), sys.argv[2]
agx = Agx(lambda: Settings().agx, lambda: [root], lambda: Resumable(list))
for number in range(int(sys.argv[3])):
    sessions = agx.sessions(root)
    with sessions.writing() as writing:
        def count(raw):
            held = raw["metadata"]["customData"]
            return changed(raw, "metadata", customData={**held, "n": held.get("n", 0) + 1, name: number})
        writing.update("main", count, clock.now())
    agx.new(root, f"{name}-{number}")
    agx.updated([root])
"""


def test_two_daemons_worth_of_writers(store: Store) -> None:
    """Each counts in one document, makes sessions, and writes the index: nothing is lost of either."""
    store.agx.new(store.root, "main")
    running = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(store.root), name, "15"])
        for name in ("one", "two", "three")
    ]
    assert [each.wait() for each in running] == [0, 0, 0]
    held = store.session("main")["metadata"]["customData"]
    assert held["n"] == 45 and held["one"] == held["two"] == held["three"] == 14
    made = {f"{name}-{number}" for name in ("one", "two", "three") for number in range(15)}
    assert {path.stem for path in store.folder.sessions.glob("*.json")} == made | {"main"}
    assert set(store.indexed()) == made | {"main"}
    assert store.index["statistics"]["totalSessions"] == 46
    left = [path.name for place in (store.root / ".agx", home()) for path in place.rglob("*") if "tmp" in path.name]
    assert left == [] and not store.folder.lock_file.exists()


def test_the_disk_that_is_full_is_told_of_and_nothing_is_lost(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    from dagentd.adapters.files import disk

    store.agx.new(store.root, "main")
    before = snapshot(store.root / ".agx")

    def full(fd: int, data: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(disk, "write_some", full)
    with pytest.raises(DagentdError, match="the disk is full"):
        store.agx.archive(store.root, "main")
    monkeypatch.undo()
    assert snapshot(store.root / ".agx") == before


def test_a_clock_that_was_put_back_keeps_the_order_of_backups(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    seeded(store, "side")
    store.agx.new(store.root, "main")
    for number in range(3):
        monkeypatch.setattr(clock, "now", lambda n=number: datetime(2025, 6, 1, tzinfo=UTC) - timedelta(days=n))
        store.write("side", {**store.session("side"), "number": number})
        store.agx.archive(store.root, "side")
        store.agx.restore(store.root, "side")
    held = [read(each)["number"] for each in sorted((store.root / ".agx" / "backups").iterdir())]
    assert held == sorted(held) and held[-1] == 2


def test_a_trash_that_is_no_folder_is_told_in_words(store: Store) -> None:
    seeded(store)
    (store.root / ".agx" / "trash").write_text("mine")
    with pytest.raises(DagentdError, match="a part of the path is not a folder"):
        store.agx.check(store.root)


def test_a_file_that_has_another_name_too_keeps_its_mode(store: Store, tmp_path: Path) -> None:
    """What others may read is made private, and not by a name that somebody else gave it."""
    path, alone = seeded(store), seeded(store, "alone")
    for each in (path, alone):
        each.chmod(0o644)
    os.link(path, tmp_path / "mine")
    keep_private(path, 0o600)
    keep_private(alone, 0o600)
    assert [each.stat().st_mode & 0o777 for each in (tmp_path / "mine", alone)] == [0o644, 0o600]
