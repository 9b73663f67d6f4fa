"""Migration: what is planned is done, nothing is lost, nothing comes twice, and it can be taken back."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dagentd.adapters.files import disk, fileio
from dagentd.errors import NotFound
from dagentd.jobs import migration
from dagentd.jobs.migration import File, Seen
from dagentd.model.project import FeatureFolder
from dagentd.settings import Settings
from dagentd.settings.tables import Migration, Watch
from dagentd.store.journal.index import Index
from dagentd.store.layout import rolled_back
from dagentd.store.sessions.removal import Rollback
from dagentd.store.store import Store
from tests.jobs.legacy_files import (
    L3_SESSION,
    L4_SESSION,
    LONE_ID,
    OLD_ID,
    at,
    chat,
    everywhere,
    lone_documents,
    single_file,
    snapshot,
    task_session,
    write,
)
from tests.permissions import mode
from tests.store.place import FEATURE, PM, PM_NESTED, TASK, Place
from tests.torture import reader
from tests.torture.reader import Files

QUICK = Settings(watch=Watch(settle_ms=5))


class Work:
    """A project that is served, with what is announced."""

    def __init__(self, place: Place) -> None:
        self.place, self.events = place, list[tuple[str, dict[str, Any]]]()
        self.seen = Seen()
        self.open()

    def open(self) -> None:
        self.index = Index(None)
        self.store = Store(
            self.place.project, self.index, settle=0.005, announce=lambda kind, **more: self.events.append((kind, more))
        )

    def close(self) -> None:
        self.store.close()
        self.index.close()

    def again(self) -> None:
        self.close()
        self.seen = Seen()
        self.open()

    def features(self) -> list[FeatureFolder]:
        return self.store.catalogue.features()

    def plan(self) -> list[File]:
        return [file for each in self.features() for file in migration.plan(self.store, each, QUICK)]

    def run(self, under: Path | None = None) -> list[File]:
        return [file for each in self.features() for file in migration.run(self.store, each, QUICK, under)]

    def look(self, settings: Settings = QUICK) -> list[File]:
        """As the daemon does by itself."""
        found = [migration.automatic(self.store, each, settings, self.seen) for each in self.features()]
        return [file for files in found for file in files]

    def rollback(self, under: Path | None = None) -> list[File]:
        return [file for each in self.features() for file in migration.rollback(self.store, each, under)]

    def said(self, session_id: str = PM) -> list[Any]:
        with self.store.sessions.using(session_id, FEATURE) as session:
            return [raw["content"] for raw in session.chat()]

    def migrations(self) -> list[tuple[str, dict[str, Any]]]:
        return [event for event in self.events if event[0].startswith("migration:")]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "p").make()


@pytest.fixture
def work(place: Place) -> Iterator[Work]:
    made = Work(place)
    yield made
    made.close()


def actions(files: list[File]) -> list[str]:
    return [file.action for file in files]


# --- each format ----------------------------------------------------------------------------------------------


def test_every_format_becomes_a_session_in_both_shapes(work: Work, place: Place) -> None:
    originals = {path: path.read_bytes() for path in everywhere(place)}
    planned = work.plan()
    assert not list(place.root.rglob("*.backup")), "a plan writes nothing"
    done = work.run()
    assert [replace(file, added=None) for file in done] == planned, "what was planned is done"
    assert sorted(f.path for f in done) == sorted(map(str, originals))
    work.close()
    for folder, pm in ((place.flat, PM), (place.nested, PM_NESTED)):
        assert [content(folder, pm, one) for one in (0, 1, 2)] == ["plan a login", "two tasks", "good"]
    told = reader.agree(Files(place.flat / "sessions", L4_SESSION))
    assert [told.content[one]["content"] for one in told.chat] == ["started", "tested", "go on", "why?"]
    told = reader.agree(Files(place.flat / "sessions", LONE_ID))
    assert told.checkpoint and told.checkpoint["summary"]["completed"] == ["began"] and told.checkpoint["version"] == 2
    for path, data in originals.items():
        assert path.with_name(f"{path.name}.backup").read_bytes() == data
        if LONE_ID not in path.name:
            assert path.read_bytes() == data, "an original is never altered"
    work.open()


def content(folder: Path, session_id: str, number: int) -> Any:
    place = folder / "sessions" / session_id
    told = reader.agree(Files(place if place.is_dir() else place.parent, session_id))
    return told.content[told.chat[number]]["content"]


@pytest.mark.parametrize("shape", ["L1", "L2", "L4", "L5"])
def test_whatever_a_text_may_hold_goes_all_the_way(work: Work, place: Place, shape: str) -> None:
    texts = ["a\0b", "\u05e9\u05dc\u05d5\u05dd \u202eRTL", "\U0001f469\u200d\U0001f467 \ud83d", "x\n" * 2_500_000, ""]
    made: dict[str, tuple[str, Any, str]] = {
        "L1": ("chat.json", chat(*texts), PM),
        "L2": (f"nodes/{TASK}/session.json", task_session(*texts), L4_SESSION),
        "L4": (f"sessions/{OLD_ID}.json", single_file(*texts), L4_SESSION),
        "L5": (f"sessions/chat_{LONE_ID}.json", lone_documents(*texts)["chat"], LONE_ID),
    }
    path, raw, session_id = made[shape]
    write(place.flat / path, raw)
    before = snapshot(place.root)
    assert [(file.messages, file.error) for file in work.run()] == [(5, None)]
    assert work.said(session_id) == texts
    work.again()
    assert work.said(session_id) == texts, "and so it is read again"
    assert set(actions(work.rollback())) == {"rolledBack"} and snapshot(place.root) == before


def test_a_session_is_linked_like_a_new_one(work: Work, place: Place) -> None:
    everywhere(place)
    work.run()
    assert reader.whole(place.flat / "feature.json")["sessionId"] == LONE_ID, "the first that was found"
    states = reader.whole(place.flat / "nodes" / TASK / "task.json")["states"]
    assert states["in_dev"]["sessionIds"] == [L4_SESSION] and states["planning"]["sessionIds"] == [L3_SESSION]
    with work.store.sessions.using(PM) as session:
        assert session.fields["status"] == "active" and session.fields["createdAt"] == at(0)
        assert session.read("agent-description") is not None


def test_an_old_id_is_an_alias(work: Work, place: Place) -> None:
    write(place.flat / "sessions" / f"{OLD_ID}.json", single_file("go on"))
    work.run()
    for _ in range(2):
        assert work.store.catalogue.find(OLD_ID).id == L4_SESSION
        with work.store.sessions.using(OLD_ID) as session:
            assert session.id == L4_SESSION
        (place.flat / "sessions" / f"{OLD_ID}.json").unlink(missing_ok=True)
        work.again()
    with pytest.raises(NotFound):
        work.store.catalogue.find("no-such-id")


# --- again ----------------------------------------------------------------------------------------------------


def test_a_second_run_changes_nothing(work: Work, place: Place) -> None:
    everywhere(place)
    work.run()
    work.again()
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in place.root.rglob("*.json*")}
    assert work.run() == work.plan(), "also what is said of it"
    assert set(actions(work.run())) == {"none"}
    assert set(actions(work.look())) == {"none"}
    work.again()
    assert before == {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in place.root.rglob("*.json*")}


def test_what_grew_is_added_and_nothing_twice(work: Work, place: Place) -> None:
    path = write(place.flat / "chat.json", chat("a", "b"))
    work.look()
    write(path, chat("a", "b", "c", "b"))
    done = work.look()
    assert [(file.action, file.messages, file.added) for file in done] == [("add", 4, 2)]
    assert work.said() == ["a", "b", "c", "b"]
    names = sorted(each.name for each in place.flat.glob("chat.json*"))
    assert names == ["chat.json", "chat.json.backup", "chat.json.backup.1"]
    assert actions(work.look()) == ["none"]


def test_backups_are_kept_but_not_for_ever(work: Work, place: Place) -> None:
    few = Settings(migration=Migration(backups=2), watch=Watch(settle_ms=5))
    texts = ["0"]
    for number in range(1, 6):
        write(place.flat / "chat.json", chat(*texts))
        work.look(few)
        texts.append(str(number))
    names = sorted(each.name for each in place.flat.glob("chat.json.*"))
    assert names == ["chat.json.backup", "chat.json.backup.3", "chat.json.backup.4"]


def test_no_temp_file_is_made_in_a_worktree(work: Work, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """git may be removing it, and fails to when it finds a name more than it read: by that of a backup 2 of 350 did."""
    made: list[Path] = []
    step = disk.step

    def noted(what: str, path: Path) -> None:
        if what == "create":
            made.append(Path(path))
        step(what, path)

    monkeypatch.setattr(disk, "step", noted)
    everywhere(place)
    work.run()
    assert made and not [path for path in made if path.is_relative_to(place.root) and ".git" not in path.parts]
    assert (place.flat / "chat.json.backup").exists()


def test_a_session_that_has_messages_gets_those_in_their_time(work: Work, place: Place) -> None:
    messages = [
        {"id": f"n{minute}", "role": "user", "content": f"new {minute}", "timestamp": at(minute)} for minute in (1, 3)
    ]
    (place.flat / "sessions").mkdir()
    session = {"id": PM, "type": "feature", "agentType": "pm", "createdAt": at(1)}
    write(place.flat / "sessions" / f"session_{PM}.json", session)
    write(place.flat / "sessions" / f"chat_{PM}.json", {"messages": messages})
    write(place.flat / "chat.json", chat("old 0", "old 1", "old 2", "old 3", "old 4"))
    done = work.run()
    assert [(file.action, file.added) for file in done] == [("add", 5)]
    expected = ["old 0", "new 1", "old 1", "old 2", "new 3", "old 3", "old 4"]
    assert work.said() == expected
    work.again()
    assert work.said() == expected, "and so it is read from the journal"


@pytest.mark.parametrize(
    ("held", "imported", "expected"),
    [
        ([1, 1], [("a", at(1)), ("b", at(1))], ["h0", "h1", "a", "b"]),
        ([2, 1, 4], [("a", at(3)), ("b", at(1)), ("c", at(3))], ["h0", "h1", "a", "b", "c", "h2"]),
        ([1, 3], [("a", None), ("b", at(2)), ("c", None)], ["h0", "a", "b", "c", "h1"]),
        ([5, 6], [("a", at(1)), ("b", at(2))], ["a", "b", "h0", "h1"]),
        ([5, 6], [("a", "2026-01-15T10:05:30"), ("b", 1768471620)], ["h0", "a", "h1", "b"]),
    ],
    ids=["equal", "out of order", "missing", "before", "other kinds"],
)
def test_both_keep_their_order_whatever_the_times(
    work: Work, place: Place, held: list[int], imported: list[tuple[str, Any]], expected: list[str]
) -> None:
    messages = [
        {"id": f"h{number}", "role": "user", "content": f"h{number}", "timestamp": at(minute)}
        for number, minute in enumerate(held)
    ]
    write(place.flat / "sessions" / f"session_{PM}.json", {"id": PM, "type": "feature", "agentType": "pm"})
    write(place.flat / "sessions" / f"chat_{PM}.json", {"messages": messages})
    entries = [{"type": "user", "text": text, **({"timestamp": time} if time else {})} for text, time in imported]
    write(place.flat / "chat.json", {"entries": entries})
    assert [file.added for file in work.run()] == [len(imported)]
    assert work.said() == expected


def test_imported_messages_are_one_append(work: Work, place: Place) -> None:
    work.store.maker.get_or_create("feature", "pm", FEATURE).leave()
    write(place.flat / "chat.json", chat("a", "b", "c"))
    work.run()
    lines = [json.loads(line) for line in place.pm.journal.read_bytes().splitlines()]
    assert [line.get("more") for line in lines if line["t"] == "message"] == [True, True, None]


def test_an_archived_session_stays_archived(work: Work, place: Place) -> None:
    work.store.maker.get_or_create("feature", "pm", FEATURE).archive()
    write(place.flat / "chat.json", chat("a"))
    work.run()
    with work.store.sessions.using(PM) as session:
        assert session.fields["status"] == "archived" and work.said() == ["a"]


# --- what cannot be done --------------------------------------------------------------------------------------


def test_entries_that_make_no_sense_are_named_and_the_others_migrated(work: Work, place: Place) -> None:
    raw = chat("a", "b")
    raw["entries"].insert(1, 42)
    path = write(place.flat / "chat.json", raw)
    before = path.read_bytes()
    (file,) = work.run()
    assert [each.index for each in file.rejected] == [1] and file.rejected[0].reason
    assert work.said() == ["a", "b"] and path.read_bytes() == before
    assert file.raw()["rejected"] == [{"index": 1, "reason": file.rejected[0].reason}]


def test_what_cannot_be_parsed_is_told_once_and_looked_at_when_it_changes(
    work: Work, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = place.flat / "chat.json"
    path.write_text('{"entries": [')
    (file,) = work.look()
    assert file.action == "failed" and file.error and path.read_text() == '{"entries": ['
    (problem,) = migration.problems([file])
    assert problem.path == str(path) and problem.hint
    opened, real = [], os.open

    def opening(name: Any, *more: Any, **how: Any) -> int:
        opened.append(name)
        return real(name, *more, **how)

    monkeypatch.setattr(os, "open", opening)
    assert [each.error for each in work.look()] == [file.error] and path not in opened
    assert [kind for kind, _ in work.migrations()] == ["migration:error"]
    monkeypatch.undo()
    write(path, chat("a"))
    assert actions(work.look()) == ["create"] and work.said() == ["a"]
    assert [kind for kind, _ in work.migrations()] == ["migration:error", "migration:done"]
    assert not list(place.flat.glob("*.corrupt*"))


def test_a_newer_format_is_refused(work: Work, place: Place) -> None:
    path = write(place.flat / "chat.json", {"version": 4, **chat("a")})
    before = snapshot(place.root)
    (file,) = work.look()
    assert file.action == "refused" and "4" in str(file.error)
    assert snapshot(place.root) == before and not path.with_name("chat.json.backup").exists()


def test_it_can_be_switched_off_and_still_be_asked_for(work: Work, place: Place) -> None:
    write(place.flat / "chat.json", chat("a"))
    off = Settings(migration=Migration(enabled=False), watch=Watch(settle_ms=5))
    assert work.look(off) == [] and not place.pm.journal.exists()
    assert [file.action for file in migration.run(work.store, work.store.catalogue.feature(FEATURE), off)] == ["create"]


def test_what_a_session_calls_its_chat_is_no_older_format(work: Work, place: Place) -> None:
    write(place.flat / "sessions" / "talk.json", {"messages": []})
    write(place.flat / "sessions" / f"session_{PM}.json", {"id": PM, "files": {"chat": "talk.json"}})
    assert work.run() == []


def test_a_link_is_not_followed(work: Work, place: Place, tmp_path: Path) -> None:
    write(tmp_path / "secret.json", chat("a"))
    (place.flat / "chat.json").symlink_to(tmp_path / "secret.json")
    (file,) = work.look()
    assert file.action == "failed" and not place.pm.journal.exists()


def test_a_session_is_not_made_behind_a_link(work: Work, place: Place, tmp_path: Path) -> None:
    """The folder of sessions leads to files of the same names, which are not the project's."""
    (tmp_path / "theirs").mkdir()
    held = write(tmp_path / "theirs" / f"session_{PM}.json", {"id": "theirs"}).read_bytes()
    (place.flat / "sessions").symlink_to(tmp_path / "theirs")
    write(place.flat / "chat.json", chat("a"))
    (file,) = work.look()
    assert file.action == "failed" and "leads out of its worktree" in (file.error or "")
    (theirs,) = (tmp_path / "theirs").iterdir()
    assert theirs.name == f"session_{PM}.json" and theirs.read_bytes() == held


def test_documents_of_a_task_stay_where_they_are(work: Work, place: Place) -> None:
    folder = place.flat / "nodes" / TASK / "sessions"
    for name, raw in lone_documents("hello").items():
        write(folder / f"{name}_{LONE_ID}.json", raw)
    assert set(actions(work.run())) == {"rewrite"}
    assert (folder / f"history_{LONE_ID}.jsonl").exists() and not (place.flat / "sessions").exists()


def test_documents_beside_the_newer_apps_memory(work: Work, place: Place) -> None:
    """It is read as their checkpoint, is live from then on, and comes back as it was."""
    for name, raw in lone_documents("hello").items():
        write(place.flat / "sessions" / f"{name}_{LONE_ID}.json", raw)
    summary = {"critical": ["no cookies"], "important": ["jwt"], "minor": ["docs"]}
    remembered = write(place.flat / "sessions" / f"memory_{LONE_ID}.json", {"sessionId": LONE_ID, "summary": summary})
    original, before = remembered.read_bytes(), snapshot(place.root)
    assert set(actions(work.run())) == {"rewrite"}
    assert remembered.with_name(f"{remembered.name}.backup").read_bytes() == original
    work.again()
    with work.store.sessions.using(LONE_ID) as session:
        held = (session.checkpoint() or {})["summary"]
        assert (held["decisions"], held["pending"], held["completed"]) == (["no cookies", "jwt"], ["docs"], ["began"])
    assert set(actions(work.rollback())) == {"rolledBack"}
    work.again()
    assert snapshot(place.root) == before


def test_lone_documents_whose_session_was_used_come_again_when_asked_for(work: Work, place: Place) -> None:
    for name, raw in lone_documents("hello", "there").items():
        write(place.flat / "sessions" / f"{name}_{LONE_ID}.json", raw)
    work.run()
    with work.store.sessions.using(LONE_ID) as session:
        session.add([{"role": "user", "content": "mine"}])
    assert set(actions(work.rollback())) == {"kept"} and work.said(LONE_ID) == ["mine"]
    work.again()
    assert set(actions(work.look())) == {"barred"} and work.said(LONE_ID) == ["mine"]
    work.run()
    assert work.said(LONE_ID) == ["hello", "there", "mine"]
    work.again()
    assert work.run() == [] and work.said(LONE_ID) == ["hello", "there", "mine"]


def test_a_memory_alone_is_no_session(work: Work, place: Place) -> None:
    write(place.flat / "sessions" / f"memory_{LONE_ID}.json", {"summary": {"critical": ["x"]}})
    assert work.run() == []


# --- taking back ----------------------------------------------------------------------------------------------


def test_a_rollback_says_which_session_it_could_not_read(
    work: Work, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It said that there was nothing to take back."""
    write(place.flat / "chat.json", chat("a"))
    work.run()
    work.again()
    real = fileio.descriptor

    def refused(path: Path, root: Path | None = None) -> int:
        if path == place.pm.session:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), str(path))
        return real(path)

    with monkeypatch.context() as patch:
        patch.setattr(fileio, "descriptor", refused)
        (file,) = [file for each in work.store.catalogue.features() for file in migration.rollback(work.store, each)]
    assert (file.action, file.path, file.error) == ("failed", str(place.pm.session), "too many files are open")
    assert file.hint


@pytest.mark.parametrize("under", [False, True], ids=["all", "one file"])
def test_what_may_not_be_looked_into_is_told(work: Work, place: Place, under: bool) -> None:
    """A rollback found no session in there, and said that nothing was migrated."""
    write(place.flat / "chat.json", chat("a"))
    work.run()
    work.again()
    closed, named = place.flat / "sessions", place.flat / "chat.json" if under else None
    assert migration.unseen(place.project, named) == []
    with mode(closed, 0):
        assert work.rollback(named) == []
        found = migration.unseen(place.project, closed / "session.json" if under else None)
    assert [(file.action, file.path, bool(file.error)) for file in found] == [("failed", str(closed), True)]
    assert migration.unseen(place.project, place.nested) == []


def test_a_rollback_restores_every_file(work: Work, place: Place) -> None:
    everywhere(place)
    write(place.nested / "nodes" / TASK / "task.json", {"id": TASK, "title": "T"})
    before = snapshot(place.root)
    work.run()
    assert snapshot(place.root) != before
    assert set(actions(work.rollback())) == {"rolledBack"}
    work.again()
    work.store.reconciler.reconcile()
    assert set(actions(work.look())) == {"barred"}
    work.close()
    assert snapshot(place.root) == before
    assert place.pm.journal.exists(), "the journal stays"
    work.open()


def test_a_rollback_that_a_crash_interrupted_goes_on_where_nothing_is_migrated(
    work: Work, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    everywhere(place)
    work.run()

    class Died(BaseException):
        pass

    def die(*_: object) -> None:
        raise Died

    with monkeypatch.context() as patch:
        patch.setattr(Rollback, "finish", die)
        for each in work.features():
            with pytest.raises(Died):
                migration.rollback(work.store, each, None)
    work.again()
    half = [folder for each in work.features() for folder, _ in rolled_back.in_feature(each)]
    assert half and all(folder.conventional("session").exists() for folder in half)
    assert work.look(replace(QUICK, migration=Migration(enabled=False))) == []
    assert not any(folder.conventional("session").exists() for folder in half)


def test_what_was_taken_back_comes_again_when_it_changes_or_is_asked_for(work: Work, place: Place) -> None:
    everywhere(place)
    work.run()
    work.rollback()
    write(place.flat / "chat.json", chat("plan a login", "two tasks", "good", "more"))
    assert [file.path for file in work.look() if file.action in migration.DUE] == [str(place.flat / "chat.json")]
    assert work.said() == ["plan a login", "two tasks", "good", "more"]
    assert set(actions(work.run())) == {"none", "add", "rewrite"}
    assert work.said(LONE_ID) == ["hello", "there"] and work.said(L4_SESSION) == ["started", "tested", "go on", "why?"]
    work.close()
    told = reader.agree(Files(place.flat / "sessions", LONE_ID))
    assert told.checkpoint and told.checkpoint["summary"]["completed"] == ["began"]
    assert told.session["status"] == "active"
    work.open()


def test_a_session_that_was_used_stays(work: Work, place: Place) -> None:
    write(place.flat / "chat.json", chat("a", "b"))
    work.run()
    with work.store.sessions.using(PM) as session:
        session.add([{"role": "user", "content": "mine"}])
    (file,) = work.rollback()
    assert file.action == "kept" and file.note
    assert work.said() == ["mine"]
    assert actions(work.look()) == ["barred"]
    (again,) = work.run()
    assert again.added == 2 and work.said() == ["a", "b", "mine"]


def test_a_path_limits_it(work: Work, place: Place) -> None:
    everywhere(place)
    only = place.flat / "nodes"
    assert {Path(file.path).is_relative_to(only) for file in work.run(only)} == {True}
    assert not place.pm.journal.exists()
    work.run()
    assert {file.session_id for file in work.rollback(place.flat / "chat.json")} == {PM}
    assert not place.pm.session.exists() and place.dev.session.exists()


def test_a_session_that_was_taken_back_can_be_made(work: Work, place: Place) -> None:
    write(place.flat / "chat.json", chat("a"))
    work.run()
    work.rollback()
    with pytest.raises(NotFound):
        work.store.catalogue.find(PM)
    session = work.store.maker.get_or_create("feature", "pm", FEATURE)
    session.add([{"role": "user", "content": "mine"}])
    assert session.fields["status"] == "active" and work.said() == ["mine"]
    assert actions(work.look()) == ["barred"]


def test_links_that_another_program_changed_are_only_cut(work: Work, place: Place) -> None:
    write(place.flat / "chat.json", chat("a"))
    work.run()
    feature = reader.whole(place.flat / "feature.json")
    write(place.flat / "feature.json", {**feature, "name": "Renamed"})
    work.rollback()
    after = reader.whole(place.flat / "feature.json")
    assert after["name"] == "Renamed" and "sessionId" not in after


def test_documents_of_an_older_shape_that_a_crash_left_half_rewritten(work: Work, place: Place) -> None:
    documents = lone_documents("hello")
    for name, raw in documents.items():
        write(place.flat / "sessions" / f"{name}_{LONE_ID}.json", raw)
    before = snapshot(place.root)
    work.run()
    rewritten = (place.flat / "sessions" / f"context_{LONE_ID}.json").read_bytes()
    work.rollback()
    assert snapshot(place.root) == before
    (place.flat / "sessions" / f"context_{LONE_ID}.json").write_bytes(rewritten)
    work.run()
    assert work.said(LONE_ID) == ["hello"]
    assert not list(place.flat.rglob("*.backup.1"))
    work.rollback()
    assert snapshot(place.root) == before


def test_both_chats_of_a_task_are_taken_back_in_any_order(work: Work, place: Place) -> None:
    write(place.flat / "nodes" / TASK / "chat.json", chat("plan"))
    write(place.flat / "nodes" / TASK / "session.json", task_session("work"))
    work.run()
    work.rollback(place.flat / "nodes" / TASK / "chat.json")
    task = reader.whole(place.flat / "nodes" / TASK / "task.json")
    assert task["states"]["planning"]["sessionIds"] == [] and task["states"]["in_dev"]["sessionIds"] == [L4_SESSION]
