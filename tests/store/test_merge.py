"""What other writers do to a session's documents: added, removed, cleared, compacted, made anew, restored."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dagentd.store.documents import rendering
from tests.store.app import LISTS, STAMP, App, said
from tests.store.served import Served

Wait = Callable[[float], None]


# --- with a position: three ways ----------------------------------------------------------------------------------


def test_what_the_app_pushes_arrives_once(served: Served) -> None:
    served.add("a")
    served.app.push(said("theirs"))
    served.flush()
    served.flush()
    assert served.shown() == ["a", "theirs"] and served.written() == ["a", "theirs"]
    assert "dagentd" in served.app.read()


def test_what_the_app_takes_away_with_a_position_leaves(served: Served) -> None:
    served.add("a", "b", "c")
    raw = served.app.read()
    raw["messages"] = [message for message in raw["messages"] if message["id"] != "b"]
    served.app.write(raw)
    served.flush()
    assert served.shown() == ["a", "c"] and served.all() == ["a", "b", "c"]
    assert [(record["ids"], record["why"]) for record in served.records("left")] == [(["b"], "external")]


def test_what_arrived_after_the_position_stays_though_the_copy_lacks_it(served: Served) -> None:
    served.add("a")
    old = served.app.read()
    served.add("b")
    old["messages"].append(said("theirs"))
    served.app.write(old)
    served.flush()
    assert sorted(served.shown()) == ["a", "b", "theirs"] and not served.records("left")


def test_a_stale_copy_with_a_position_does_not_bring_back_what_left(served: Served) -> None:
    served.add("a", "b")
    old = served.app.read()
    served.session.clear()
    served.add("c")
    old["messages"].append(said("theirs"))
    served.app.write(old)
    served.flush()
    assert sorted(served.shown()) == ["c", "theirs"] and not served.records("back")


def test_a_writer_who_knew_that_a_message_left_can_put_it_back(served: Served) -> None:
    served.add("a", "b")
    held = served.app.read()["messages"][0]
    served.session.clear()
    served.add("c")
    raw = served.app.read()
    raw["messages"].insert(0, held)
    served.app.write(raw)
    served.flush()
    assert served.shown() == ["a", "c"] and [record["ids"] for record in served.records("back")] == [["a"]]
    served.again()
    assert served.shown() == ["a", "c"]


def test_a_message_inserted_between_others_stays_where_it_was_put(served: Served) -> None:
    served.add("a", "b")
    raw = served.app.read()
    raw["messages"][1:1] = [said("between-1"), said("between-2")]
    raw["messages"].insert(0, said("first"))
    served.app.write(raw)
    served.flush()
    order = ["first", "a", "between-1", "between-2", "b"]
    assert served.shown() == order
    served.again()
    assert served.shown() == order and served.all() == order


def test_messages_that_somebody_put_in_another_order_are_in_ours_again(served: Served) -> None:
    """Their order is the journal's: what is on disk for an hour must not be another one than we answer."""
    served.add("a", "b", "c")
    before = served.app.read()
    served.app.write(before | {"messages": before["messages"][::-1], "totalMessages": 9})
    served.flush()
    assert served.app.read() == before and served.known() == ["a", "b", "c"]


def test_a_chat_that_somebody_only_laid_out_otherwise_is_left_alone(served: Served) -> None:
    served.add("a", "b")
    served.app.write(served.app.read())
    theirs = served.app.paths["chat"].read_bytes()
    served.flush()
    served.again()
    assert served.app.paths["chat"].read_bytes() == theirs


def test_a_position_with_another_sum_is_no_base(served: Served) -> None:
    """The number is an offset of this journal by chance only: nothing may leave because of it."""
    served.add("a", "b")
    raw = served.app.read()
    raw["dagentd"]["sum"] = "0" * 16
    raw["messages"] = [said("theirs")]
    served.app.write(raw)
    served.flush()
    assert sorted(served.shown()) == ["a", "b", "theirs"] and not served.records("left")


# --- without a position -------------------------------------------------------------------------------------------


def test_a_stale_copy_without_a_position_only_adds(served: Served, wait: Wait) -> None:
    served.add("a", "b", "c")
    first = served.app.read()["messages"][0]
    served.session.clear()
    served.add("d", "e")
    wait(5)
    last = served.app.read()["messages"][0]
    served.app.write(App.chat_of([first, last, said("theirs")]))
    served.flush()
    assert sorted(served.shown()) == ["d", "e", "theirs"] and not served.records("back")
    assert [record["why"] for record in served.records("left")] == ["cleared"]


def test_the_apps_clear_takes_what_had_been_on_disk_for_over_a_second(served: Served, wait: Wait) -> None:
    served.add("a", "b")
    wait(5)
    served.add("just-now")
    served.app.clear()
    served.flush()
    assert served.shown() == ["just-now"] and served.all() == ["a", "b", "just-now"]
    assert [(record["ids"], record["why"]) for record in served.records("left")] == [(["a", "b"], "cleared")]
    assert "dagentd" in served.app.read()


def test_a_clear_of_what_was_there_before_a_restart(served: Served) -> None:
    served.add("a", "b")
    served.close()
    served.app.clear()
    served.open()
    served.flush()
    assert served.shown() == [] and served.all() == ["a", "b"]


def test_a_clear_does_not_take_what_was_never_shown_because_we_died(served: Served) -> None:
    served.add("a", "b")
    served.close()
    with served.journal.open("ab") as journal:  # acknowledged, and then the power failed before the chat was written
        journal.write(json.dumps({"t": "message", "at": "2026-01-01", "message": said("last")}).encode() + b"\n")
    served.app.clear()
    served.open()
    served.flush()
    assert served.shown() == ["last"] and served.all() == ["a", "b", "last"]


def test_nor_where_the_power_failure_took_all_that_says_what_was(served: Served) -> None:
    served.add("a")
    served.close()
    served.app.clear()
    served.app.paths["session"].write_bytes(b"")
    assert served.index_file is not None
    served.index_file.unlink()
    served.open()
    served.flush()
    assert served.shown() == ["a"]


def test_nor_one_that_comes_when_it_is_shown_for_a_moment(served: Served) -> None:
    """Also where a power failure took the session document, which was not synced."""
    served.add("a", "b")
    served.close()
    with served.journal.open("ab") as journal:
        journal.write(json.dumps({"t": "message", "at": "2026-01-01", "message": said("last")}).encode() + b"\n")
    served.app.paths["session"].write_bytes(b"")
    assert served.index_file is not None
    served.index_file.unlink()  # a cache
    served.open()
    served.flush()
    assert served.shown() == ["a", "b", "last"]
    served.app.clear()
    served.flush()
    assert served.shown() == ["last"]


def test_a_clear_that_already_holds_a_new_message(served: Served, wait: Wait) -> None:
    served.add("a", "b")
    wait(5)
    served.app.write(App.chat_of([said("new")]))
    served.flush()
    assert served.shown() == ["new"] and served.all() == ["a", "b", "new"]


def test_a_clear_resets_the_counts_and_keeps_the_checkpoint(served: Served, wait: Wait) -> None:
    served.add("a", "b")
    served.session.update_checkpoint({"summary": {name: ["kept"] for name in LISTS}})
    served.flush()
    wait(5)
    served.app.clear()
    served.flush()
    assert served.app.read()["totalMessages"] == 0 and served.app.read("session")["stats"]["totalMessages"] == 0
    assert served.app.read("checkpoint")["summary"]["decisions"] == ["kept"]


@pytest.mark.parametrize("damage", [None, b"", b"   \n", b"\0" * 80, b'{"messages": [{"id": "a"', b"[]", b"{}"])
def test_a_missing_empty_or_unreadable_chat_is_never_a_clear(served: Served, wait: Wait, damage: bytes | None) -> None:
    served.add("a", "b")
    wait(5)
    path = served.app.paths["chat"]
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage)
    served.flush()
    assert served.shown() == ["a", "b"] and served.known() == ["a", "b"] and not served.records("left")
    aside = [each.read_bytes() for each in path.parent.glob("chat*.corrupt.*")]
    assert aside == ([damage] if damage else []) or damage == b""


@pytest.mark.parametrize("damage", [None, b"", b"\0" * 80, b'{"messages": [{"id": "a"'])
def test_nor_is_one_that_was_damaged_while_the_daemon_was_down(served: Served, damage: bytes | None) -> None:
    served.add("a", "b")
    served.close()
    if damage is None:
        served.app.paths["chat"].unlink()
    else:
        served.app.paths["chat"].write_bytes(damage)
    served.open()
    served.flush()
    assert served.shown() == ["a", "b"] and not served.records("left")


# --- the app's own compaction -------------------------------------------------------------------------------------


def _compacted(served: Served) -> dict[str, Any]:
    """A checkpoint of the app's for the messages a and b of three, which have times of their own."""
    served.app.push(said("a", timestamp="2026-01-01T00:00:00.000Z"), said("b", timestamp="2026-01-02T00:00:00.000Z"))
    served.flush()
    served.add("later")  # while the app's model was at work
    return served.app.new_checkpoint(2, "2026-01-02T00:00:00.000Z", completed=["did a and b"])


def test_the_apps_compaction_seen_at_once_is_one_record(served: Served, wait: Wait) -> None:
    checkpoint = _compacted(served)
    wait(5)
    served.app.write(checkpoint, "checkpoint")
    served.app.clear()
    served.flush()
    assert served.shown() == ["later"]
    (left,) = served.records("left")
    assert left["ids"] == ["a", "b"] and left["why"] == "compacted"
    assert left["checkpoint"]["summary"]["completed"] == ["did a and b"]
    assert served.app.read("checkpoint")["version"] >= 2


def test_the_apps_compaction_seen_in_two_steps(served: Served, wait: Wait) -> None:
    checkpoint = _compacted(served)
    wait(5)
    served.app.write(checkpoint, "checkpoint")
    served.flush()
    assert served.shown() == ["a", "b", "later"]
    served.app.clear()
    served.flush()
    assert served.shown() == ["later"] and served.records("left")[0]["ids"] == ["a", "b"]
    assert served.app.read("checkpoint")["summary"]["completed"] == ["did a and b"]


def test_the_apps_compaction_seen_in_two_steps_with_a_restart_between(served: Served, wait: Wait) -> None:
    checkpoint = _compacted(served)
    wait(5)
    served.app.write(checkpoint, "checkpoint")
    served.again()
    served.app.clear()
    served.again()
    assert served.shown() == ["later"]


def test_what_arrived_after_the_apps_compaction_is_no_part_of_it_however_old(served: Served, wait: Wait) -> None:
    checkpoint = _compacted(served)
    wait(5)
    served.app.write(checkpoint, "checkpoint")
    served.flush()
    served.app.push(said("migrated", timestamp="2025-01-01T00:00:00.000Z"))
    served.flush()
    served.app.clear()
    served.flush()
    assert served.shown() == ["later", "migrated"] and served.records("left")[0]["ids"] == ["a", "b"]


def test_a_clear_after_the_apps_compaction_is_a_clear(served: Served, wait: Wait) -> None:
    checkpoint = _compacted(served)
    wait(5)
    served.app.write(checkpoint, "checkpoint")
    served.app.clear()
    served.flush()
    wait(5)
    served.app.clear()
    served.flush()
    assert served.shown() == [] and [record["why"] for record in served.records("left")] == ["compacted", "cleared"]


def test_so_is_one_after_a_compaction_of_the_apps_that_ours_was_before(served: Served, wait: Wait) -> None:
    """Both have the same version, so the app's is an edit of ours, and the chat that came with it a clear."""
    checkpoint = _compacted(served)
    wait(5)
    served.session.update_checkpoint({"summary": {"pending": ["ours"]}})
    served.flush()  # or ours is being written, and the app's is found before the chat that it wrote with it
    served.app.write(checkpoint, "checkpoint")
    served.app.clear()
    served.flush()
    assert served.shown() == []
    served.add("new")
    wait(5)
    served.app.clear()
    served.flush()
    assert served.shown() == []


def _died_before_replacing(served: Served) -> None:
    """What others wrote is in the journal, and still on disk."""
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in served.app.paths.values()}
    served.flush()
    served.close()
    for path, (data, written) in before.items():
        path.write_bytes(data)
        os.utime(path, ns=(written, written))
    served.open()
    served.flush()


def test_nor_is_the_rest_of_the_apps_compaction_a_clear_if_we_died_over_it(served: Served, wait: Wait) -> None:
    checkpoint = _compacted(served)
    wait(5)
    served.app.write(checkpoint, "checkpoint")
    served.app.clear()
    _died_before_replacing(served)
    assert served.shown() == ["later"] and served.records("left")[0]["ids"] == ["a", "b"]


def test_the_same_clear_once_more_while_the_daemon_was_down(served: Served, wait: Wait) -> None:
    for one in ("a", "b"):
        served.add(one)
        wait(5)
        served.close()
        served.app.clear()
        served.open()
        served.flush()
        assert served.shown() == []
    assert [record["ids"] for record in served.records("left")] == [["a"], ["b"]]


# --- made anew ----------------------------------------------------------------------------------------------------


def _worth_keeping(served: Served, wait: Wait) -> None:
    served.add("a", "b")
    served.session.update_checkpoint({"summary": {name: [f"our {name}"] for name in LISTS}})
    served.flush()
    wait(5)


def _nothing_was_lost(served: Served, created: str) -> None:
    assert served.shown() == ["a", "b"] and not served.records("left")
    checkpoint, session = served.app.read("checkpoint"), served.app.read("session")
    assert checkpoint["summary"] == {name: [f"our {name}"] for name in LISTS} and checkpoint["version"] == 2
    assert session["createdAt"] == created and session["stats"]["totalMessages"] == 2


def test_a_session_that_the_app_made_anew_loses_nothing(served: Served, wait: Wait) -> None:
    _worth_keeping(served, wait)
    created = served.app.read("session")["createdAt"]
    served.app.recreate()
    served.flush()
    _nothing_was_lost(served, created)


def test_nor_while_the_daemon_was_down(served: Served, wait: Wait) -> None:
    _worth_keeping(served, wait)
    created = served.app.read("session")["createdAt"]
    served.close()
    served.app.recreate()
    served.open()
    served.flush()
    _nothing_was_lost(served, created)


def test_nor_if_we_died_over_it(served: Served, wait: Wait) -> None:
    _worth_keeping(served, wait)
    created = served.app.read("session")["createdAt"]
    served.app.recreate()
    _died_before_replacing(served)
    _nothing_was_lost(served, created)


def test_a_changed_creation_time_alone_says_so(served: Served, wait: Wait) -> None:
    _worth_keeping(served, wait)
    created = served.app.read("session")["createdAt"]
    held = served.app.read("checkpoint")
    served.app.recreate()
    served.app.write(held, "checkpoint")
    served.flush()
    _nothing_was_lost(served, created)


def test_a_fallen_checkpoint_version_alone_says_so(served: Served, wait: Wait) -> None:
    _worth_keeping(served, wait)
    held = served.app.read("session")
    served.app.recreate()
    served.app.write(held, "session")
    served.flush()
    _nothing_was_lost(served, held["createdAt"])


def test_documents_made_anew_and_seen_one_by_one(served: Served, wait: Wait) -> None:
    """The app writes session, chat and checkpoint one after the other, and we may look between."""
    _worth_keeping(served, wait)
    created = served.app.read("session")["createdAt"]
    held = {name: served.app.read(name) for name in ("session", "chat", "checkpoint")}
    served.app.recreate()
    anew = {name: served.app.read(name) for name in ("session", "chat", "checkpoint")}
    for name, raw in held.items():
        served.app.write(raw, name)
    for name, raw in anew.items():
        served.app.write(raw, name)
        served.flush()
    _nothing_was_lost(served, created)


# --- checkpoint ---------------------------------------------------------------------------------------------------


def _summary(served: Served, **lists: list[str]) -> None:
    served.session.update_checkpoint({"summary": {name: lists.get(name, []) for name in LISTS}})
    served.flush()


def test_an_outside_checkpoint_is_applied_as_edits(served: Served) -> None:
    _summary(served, pending=["p1", "p2"], decisions=["d1", "d2"])
    raw = served.app.read("checkpoint")
    raw["summary"] |= {"pending": ["p2", "p3"], "decisions": ["d2"], "completed": ["p1"]}
    served.app.write(raw, "checkpoint")
    served.flush()
    merged = served.app.read("checkpoint")
    assert merged["summary"]["pending"] == ["p2", "p3"] and merged["summary"]["completed"] == ["p1"]
    assert merged["summary"]["decisions"] == ["d1", "d2"]  # decisions stay
    assert merged["version"] == raw["version"] + 1 and served.session.checkpoint() is not None
    served.again()
    assert served.app.read("checkpoint") == merged


def test_a_decision_that_somebody_struck_is_there_again(served: Served) -> None:
    _summary(served, decisions=["d1", "d2"])
    raw = served.app.read("checkpoint")
    raw["summary"]["decisions"] = ["d2"]
    served.app.write(raw, "checkpoint")
    served.flush()
    assert served.app.read("checkpoint")["summary"]["decisions"] == ["d1", "d2"]


@pytest.mark.parametrize("keeps_position", [True, False])
def test_what_was_added_since_the_base_stays(served: Served, keeps_position: bool) -> None:
    _summary(served, pending=["p1"])
    raw = served.app.read("checkpoint")
    _summary(served, pending=["p1", "ours"], decisions=["new"])
    raw["summary"]["pending"] = ["p1", "theirs"]
    if not keeps_position:
        del raw["dagentd"]
    served.app.write(raw, "checkpoint")
    served.flush()
    summary = served.app.read("checkpoint")["summary"]
    assert sorted(summary["pending"]) == ["ours", "p1", "theirs"] and summary["decisions"] == ["new"]


def test_what_we_noted_since_stays_though_the_app_chose_the_same_version(served: Served) -> None:
    _summary(served, pending=["p1", "p2"])
    version = served.app.read("checkpoint")["version"] + 1
    served.session.update_checkpoint({"summary": {"pending": ["p1", "p2", "ours"]}})
    assert (served.session.checkpoint() or {})["version"] == version
    served.app.write(served.app.new_checkpoint(version, STAMP, pending=["p2", "theirs"]), "checkpoint")
    served.flush()
    assert served.app.read("checkpoint")["summary"]["pending"] == ["p2", "ours", "theirs"]


def test_of_a_file_that_lost_its_name_when_we_died_only_what_is_new_counts(served: Served) -> None:
    _summary(served, pending=["p1"])
    raw = served.app.read("checkpoint")
    served.close()
    path = served.app.paths["checkpoint"]
    raw["summary"]["pending"] = ["theirs"]
    path.with_name(f".{path.name}.1-1.dagentd-tmp").write_text(json.dumps(raw))
    served.again()
    assert served.app.read("checkpoint")["summary"]["pending"] == ["p1", "theirs"]


@pytest.mark.parametrize("keeps_position", [True, False])
def test_nor_what_was_taken_in_from_it_and_resolved_since(served: Served, keeps_position: bool) -> None:
    _summary(served, pending=["p1"])
    raw = served.app.read("checkpoint")
    raw["summary"]["pending"] = ["p1", "theirs"]
    if not keeps_position:
        del raw["dagentd"]
    served.app.write(raw, "checkpoint")
    served.flush()
    _summary(served, pending=["p1"])
    served.close()
    path = served.app.paths["checkpoint"]
    path.with_name(f".{path.name}.1-1.dagentd-tmp").write_text(json.dumps(raw))
    served.again()
    assert served.app.read("checkpoint")["summary"]["pending"] == ["p1"]


def test_the_version_never_falls(served: Served) -> None:
    _summary(served, pending=["p1"])
    _summary(served, pending=["p1", "p2"])
    raw = served.app.read("checkpoint") | {"version": 1}
    raw["summary"]["pending"].append("p3")
    served.app.write(raw, "checkpoint")
    served.flush()
    assert served.app.read("checkpoint")["version"] == 4


def test_a_memory_that_lacks_a_decision_which_stays_has_it_again(served: Served) -> None:
    served.app.paths["memory"] = served.folder.conventional("memory")
    served.app.write({"version": 1, "summary": {"critical": ["d1"], "important": ["d2"], "minor": []}}, "memory")
    served.again()
    raw = served.app.read("memory")
    assert "dagentd" in raw
    raw["summary"]["important"] = []
    served.app.write(raw, "memory")
    served.flush()
    assert served.app.read("memory")["summary"] == {"critical": ["d1"], "important": ["d2"], "minor": []}


def test_an_unreadable_checkpoint_is_made_again(served: Served) -> None:
    _summary(served, decisions=["d"])
    served.app.paths["checkpoint"].write_text("{")
    served.flush()
    assert served.app.read("checkpoint")["summary"]["decisions"] == ["d"]


# --- session ------------------------------------------------------------------------------------------------------


def test_fields_of_the_session_are_merged_one_by_one(served: Served) -> None:
    raw = served.app.read("session")
    served.session.set(taskState="in_qa", note="ours")
    served.flush()
    raw |= {"title": "theirs", "stats": {"totalMessages": 77}}
    served.app.write(raw, "session")
    served.flush()
    now = served.app.read("session")
    assert (now["taskState"], now["note"], now["title"]) == ("in_qa", "ours", "theirs")
    assert now["stats"]["totalMessages"] == 0  # recomputed
    served.again()
    assert served.app.read("session")["title"] == "theirs"


@pytest.mark.parametrize("change", [{"id": "another"}, {"createdAt": STAMP}, {"stats": {"totalMessages": 77}}])
def test_what_nobody_may_change_in_the_session_is_there_again(served: Served, change: dict[str, Any]) -> None:
    """The journal refuses it, and who reads the file must not be told otherwise."""
    served.add("a")
    before = served.app.read("session")
    served.app.write(before | change, "session")
    served.flush()
    assert served.app.read("session") == before and not served.records("session")[1:]


def test_the_apps_cached_copy_does_not_undo_an_archive(served: Served) -> None:
    cached = served.app.read("session")
    served.session.archive()
    served.flush()
    served.app.write(cached | {"updatedAt": "2031-01-01T00:00:00.000Z"}, "session")
    served.flush()
    assert served.app.read("session")["status"] == "archived" == served.session.fields["status"]


def test_nor_does_an_old_copy_without_a_position(served: Served) -> None:
    cached = served.app.read("session")
    del cached["dagentd"]
    served.session.archive()
    served.flush()
    served.app.write(cached | {"updatedAt": "2020-01-01T00:00:00.000Z"}, "session")
    served.flush()
    assert served.session.fields["status"] == "archived"


def test_nor_does_a_file_that_lost_its_name_when_we_died_bring_one_back(served: Served) -> None:
    archived = served.app.read("session") | {"status": "archived"}
    served.app.write(archived, "session")
    served.flush()
    served.session.set(status="active")
    served.flush()
    served.close()
    before = served.journal.read_bytes()
    path = served.app.paths["session"]
    path.with_name(f".{path.name}.1-1.dagentd-tmp").write_text(json.dumps(archived))
    served.again()
    assert served.journal.read_bytes() == before


def test_a_user_who_saw_the_archive_can_undo_it_in_the_file(served: Served) -> None:
    served.session.archive()
    served.flush()
    served.app.write(served.app.read("session") | {"status": "active"}, "session")
    served.flush()
    assert served.session.fields["status"] == "active"


# --- ways of saving -----------------------------------------------------------------------------------------------


def test_an_editor_that_saves_by_rename(served: Served) -> None:
    served.add("a")
    path = served.app.paths["chat"]
    raw = served.app.read()
    raw["messages"].append(said("edited-in"))
    swap = path.with_name("4913~")
    swap.write_text(json.dumps(raw))
    swap.replace(path)
    served.flush()
    served.add("b")
    assert served.shown() == ["a", "edited-in", "b"]
    served.close()
    assert not [name for name in os.listdir(path.parent) if name.startswith(".") or name == swap.name]


def test_a_writer_who_opened_the_file_before_we_replaced_it(served: Served) -> None:
    """It writes into the file that has lost its name: read again at once and after the settle time."""
    served.add("a")
    with served.app.paths["chat"].open("r+", encoding="utf-8") as file:
        raw = json.load(file)
        served.add("b")  # replaces the file
        file.seek(0)
        file.truncate()
        file.write(json.dumps(raw | {"messages": [*raw["messages"], said("into-the-ghost")]}))
    served.close()  # waits for what is still to be read
    served.open()
    served.flush()
    assert sorted(served.shown()) == ["a", "b", "into-the-ghost"]


def test_a_restored_backup_of_chat(served: Served) -> None:
    served.add("a", "b")
    backup = served.app.paths["chat"].read_bytes()
    served.session.clear()
    served.add("c")
    served.app.paths["chat"].write_bytes(backup)
    served.flush()
    assert served.shown() == ["c"] and served.all() == ["a", "b", "c"]


def test_a_restored_backup_of_chat_while_the_daemon_was_down(served: Served) -> None:
    served.add("a")
    backup = served.app.paths["chat"].read_bytes()
    served.add("b")
    served.close()
    served.app.paths["chat"].write_bytes(backup)
    served.open()
    served.flush()
    assert served.shown() == ["a", "b"]


@pytest.mark.parametrize("name", ["chat", "checkpoint", "session"])
def test_a_document_is_of_the_moment_it_is_made_in(served: Served, name: str) -> None:
    """One whose position is later than what it says would be taken for somebody who took the rest away."""
    served.add("a")
    _summary(served, decisions=["d1"])
    state = served.session._journal.state

    def made() -> Iterator[bytes]:
        return rendering.document(name, state, served.folder, {}, False)

    now, later = b"".join(made()), made()
    served.add("b")
    _summary(served, decisions=["d1", "d2"])
    assert b"".join(later) == now != b"".join(made())


def test_a_program_that_does_not_know_goal_and_facts_leaves_them_standing(served: Served) -> None:
    told = {"facts": ["port 5433"], "goal": "a shop", "next": "deploy"}
    served.session.update_checkpoint({"summary": {"pending": ["p1"], **told}})
    served.flush()
    raw = served.app.read("checkpoint")
    raw["summary"] = {"pending": ["p2"], "completed": [], "inProgress": [], "blockers": [], "decisions": []}
    served.app.write(raw, "checkpoint")
    served.flush()
    merged = served.app.read("checkpoint")["summary"]
    assert (merged["pending"], merged["facts"]) == (["p2"], ["port 5433"])
    assert (merged["goal"], merged["next"]) == ("a shop", "deploy")
