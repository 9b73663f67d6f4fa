"""Compaction as the journal sees it: committed as one record, undone any number of times, and never over a change."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dagentd.errors import Conflict, NotFound
from dagentd.model.compaction.items import items_of
from tests.store.served import Served

EMPTY: dict[str, list[str]] = {"completed": [], "inProgress": [], "pending": [], "blockers": [], "decisions": []}


def checkpoint(*decisions: str, backend: str = "local") -> dict[str, Any]:
    return {"summary": {**EMPTY, "decisions": list(decisions)}, "backend": backend}


def compact(served: Served, *decisions: str, keep: int = 0, backend: str = "local") -> int:
    start = served.session.snapshot()
    ids = [one.id for one in start.messages[: len(start.messages) - keep]]
    return served.session.compact(start, ids, checkpoint(*decisions, backend=backend))


def documents(served: Served) -> dict[str, Any]:
    """All that is on disk of the session, but for what an undo changes."""
    served.flush()
    found = {}
    for name in ("chat", "checkpoint", "session"):
        raw = json.loads(served.folder.document(name).read_text())
        found[name] = {key: value for key, value in raw.items() if key not in ("version", "updatedAt", "dagentd")}
    return found


def test_messages_leave_and_the_checkpoint_comes_in_one_record(served: Served) -> None:
    served.add("a", "b", "c")
    assert compact(served, "We use Rust", keep=1) == 2
    assert served.known() == ["c"]
    (record,) = served.records("left")
    assert (record["ids"], record["why"]) == (["a", "b"], "compacted")
    assert record["checkpoint"]["summary"]["decisions"] == ["We use Rust"]
    served.flush()
    assert served.shown() == ["c"]
    assert [one["id"] for one in served.session.history()[0]] == ["a", "b", "c"]
    assert served.session.document()["stats"]["totalCompactions"] == 1


def test_what_arrives_meanwhile_stays(served: Served) -> None:
    served.add("a")
    start = served.session.snapshot()
    served.add("b")
    served.session.compact(start, ["a"], checkpoint("x"))
    assert served.known() == ["b"]


def test_nothing_is_committed_over_an_edit_a_clear_or_another_checkpoint(served: Served) -> None:
    served.add("a", "b")
    start = served.session.snapshot()
    served.session.update_checkpoint({"summary": {**EMPTY, "decisions": ["by hand"]}})
    with pytest.raises(Conflict, match="changed while"):
        served.session.compact(start, ["a"], checkpoint("x"))
    start = served.session.snapshot()
    served.session.clear()
    with pytest.raises(Conflict, match="changed while"):
        served.session.compact(start, ["a"], checkpoint("x"))
    assert not [record for record in served.records("left") if record["why"] == "compacted"]


def test_nothing_is_committed_over_a_change_of_the_newer_app_s_memory(served: Served) -> None:
    served.app.paths["memory"] = served.folder.conventional("memory")
    served.app.write({"version": 1, "summary": {"critical": ["d1"], "important": [], "minor": []}}, "memory")
    served.again()
    served.add("a")
    start = served.session.snapshot()
    raw = served.app.read("memory")
    raw["summary"]["critical"].append("said meanwhile")
    served.app.write(raw, "memory")
    served.flush()
    with pytest.raises(Conflict, match="changed while"):
        served.session.compact(start, ["a"], checkpoint("d1"))
    assert "said meanwhile" in json.dumps(served.session.checkpoint()) and served.known() == ["a"]
    start = served.session.snapshot()
    served.session.compact(start, ["a"], {**start.checkpoint, "backend": "local"})
    served.flush()
    assert served.app.read("memory")["summary"]["critical"] == ["d1", "said meanwhile"]


def test_a_message_that_was_edited_meanwhile_is_not_compacted_as_it_was(served: Served) -> None:
    served.add("a")
    start = served.session.snapshot()
    served.app.write({**served.app.read(), "messages": [{**served.app.read()["messages"][0], "content": "other"}]})
    served.flush()
    with pytest.raises(Conflict):
        served.session.compact(start, ["a"], checkpoint("x"))
    assert served.known() == ["a"]


def test_undo_gives_back_equal_documents(served: Served) -> None:
    served.add("a", "b")
    before = documents(served)
    compact(served, "x")
    assert documents(served) != before
    assert served.session.undo_compaction() == {"messagesRestored": 2, "checkpointVersion": 3}
    assert documents(served) == before


def test_ten_compactions_and_ten_undos(served: Served) -> None:
    states = []
    for number in range(10):
        served.add(f"{number}-a", f"{number}-b")
        states.append(documents(served))
        compact(served, *(f"decision {each}" for each in range(number + 1)), keep=number % 2)
    versions = [json.loads(served.folder.document("checkpoint").read_text())["version"]]
    for number in reversed(range(10)):
        if number == 5:
            served.again()  # a restart in between
        served.session.undo_compaction()
        found = documents(served)
        later = {one["id"] for one in found["chat"]["messages"]} - {
            one["id"] for one in states[number]["chat"]["messages"]
        }
        assert later == {f"{each}-{name}" for each in range(number + 1, 10) for name in "ab"}
        found["chat"]["messages"] = [one for one in found["chat"]["messages"] if one["id"] not in later]
        assert found["chat"]["messages"] == states[number]["chat"]["messages"]
        assert found["checkpoint"] == states[number]["checkpoint"]
        versions.append(json.loads(served.folder.document("checkpoint").read_text())["version"])
    assert versions == sorted(set(versions))
    assert served.session.document()["stats"]["totalCompactions"] == 0
    with pytest.raises(Conflict, match="not compacted"):
        served.session.undo_compaction()


def test_undo_after_later_messages_puts_the_old_ones_where_they_were(served: Served) -> None:
    served.add("a", "b")
    compact(served, "x")
    served.add("c")
    served.session.undo_compaction()
    assert served.known() == ["a", "b", "c"]
    served.again()
    assert served.known() == ["a", "b", "c"]


def test_undo_is_refused_after_an_edit_and_after_a_clear(served: Served) -> None:
    served.add("a")
    compact(served, "x")
    served.session.update_checkpoint({"summary": {**EMPTY, "decisions": ["y"]}})
    with pytest.raises(Conflict, match="edited"):
        served.session.undo_compaction()
    served.add("b")
    compact(served, "z")
    served.add("c")
    served.session.clear()
    served.again()
    with pytest.raises(Conflict, match="cleared"):
        served.session.undo_compaction()


def test_clearing_a_chat_that_is_empty_by_compaction_ends_the_way_back_too(served: Served) -> None:
    """Who clears wants the messages gone; once it is known, clearing again writes nothing."""
    served.add("a")
    compact(served, "x")
    for _ in range(2):
        assert served.session.clear() == 0
    assert len(served.records("left")) == 2
    served.again()
    with pytest.raises(Conflict, match="cleared"):
        served.session.undo_compaction()
    assert (served.known(), len(served.session.history()[0])) == ([], 1)


def test_once_more_is_not_committed_over_a_clear(served: Served) -> None:
    """Its undo would bring back what was cleared."""
    served.add("a")
    compact(served, "x")
    start = served.session.before("local")
    served.add("b")
    served.session.clear()
    with pytest.raises(Conflict, match="changed while"):
        served.session.compact(start, ["a"], checkpoint("better", backend="anthropic"))
    assert (served.session.checkpoint() or {})["summary"]["decisions"] == ["x"]


def test_whoever_undid_is_remembered_over_a_restart(served: Served) -> None:
    served.add("a")
    compact(served, "x")
    assert not served.session.undone
    served.session.undo_compaction()
    served.again()
    assert served.session.undone
    compact(served, "y")
    served.again()
    assert not served.session.undone


def test_an_index_that_is_gone_knows_the_same(served: Served) -> None:
    served.add("a", "b")
    compact(served, "x", keep=1)
    compact(served, "x", "y")
    served.close()
    assert served.index_file is not None
    served.index_file.unlink()
    served.open()
    assert served.session.undoable == 2
    assert served.session.undo_compaction()["messagesRestored"] == 1
    assert served.known() == ["b"]


def test_pins_stay_and_do_not_bar_the_undo(served: Served) -> None:
    served.session.update_checkpoint({"summary": {**EMPTY, "decisions": ["kept"]}})
    served.add("a")
    before = documents(served)["checkpoint"]["summary"]
    compact(served, "kept", "new")
    (item,) = [each for each in items_of(served.session.checkpoint()) if each.text == "kept"]
    served.session.pin(item=item.id)
    assert [each.pinned for each in items_of(served.session.checkpoint())] == [True, False]
    served.again()
    served.session.undo_compaction()
    assert [(each.text, each.pinned) for each in items_of(served.session.checkpoint())] == [("kept", True)]
    assert documents(served)["checkpoint"]["summary"] == before
    served.session.pin(item=item.id, pinned=False)
    assert [each.pinned for each in items_of(served.session.checkpoint())] == [False]


def test_a_pin_does_not_make_an_edited_checkpoint_undoable(served: Served) -> None:
    """Or the edit would be lost with the compaction."""
    served.add("a")
    compact(served, "kept")
    served.session.update_checkpoint({"summary": {**EMPTY, "decisions": ["kept", "by hand"]}})
    served.session.pin(item=items_of(served.session.checkpoint())[0].id)
    with pytest.raises(Conflict, match="edited"):
        served.session.undo_compaction()
    served.again()
    with pytest.raises(Conflict, match="edited"):
        served.session.undo_compaction()


def test_a_pinned_item_that_another_program_takes_away_stays(served: Served) -> None:
    served.session.update_checkpoint({"summary": {**EMPTY, "pending": ["kept", "dropped"]}})
    (kept, _) = items_of(served.session.checkpoint())
    served.session.pin(item=kept.id)
    served.flush()
    found = json.loads(served.folder.document("checkpoint").read_text())
    found["summary"]["pending"] = []
    served.folder.document("checkpoint").write_text(json.dumps(found))
    served.flush()
    assert served.session.checkpoint()["summary"]["pending"] == ["kept"]  # type: ignore[index]
    assert [each.text for each in items_of(served.session.checkpoint())] == ["kept"]


def test_what_cannot_be_pinned(served: Served) -> None:
    with pytest.raises(NotFound, match="no item"):
        served.session.pin(item="nothing")
    with pytest.raises(NotFound, match="no message"):
        served.session.pin(message="nothing")


def test_pinned_messages_are_remembered(served: Served) -> None:
    served.add("a", "b")
    served.session.pin(message="a")
    served.session.pin(message="b")
    served.session.pin(message="a", pinned=False)
    served.again()
    assert served.session.fields["pinnedMessages"] == ["b"]


def test_once_more_from_history(served: Served) -> None:
    """What the last compactions without a model started from is compacted by one, and that can be undone."""
    served.add("a")
    compact(served, "by model", backend="anthropic")
    served.add("b")
    compact(served, "one", backend="local")
    served.add("c", "d")
    compact(served, "one", "two", keep=1, backend="local")
    start = served.session.before("local")
    assert ([one.id for one in start.messages], start.past) == (["b", "c"], 2)
    assert start.checkpoint["summary"]["decisions"] == ["by model"]
    served.session.compact(start, ["b", "c"], checkpoint("by model", "better", backend="anthropic"))
    assert served.known() == ["d"]
    assert served.session.document()["stats"]["totalCompactions"] == 2
    served.again()
    with pytest.raises(Conflict, match="without a model"):
        served.session.before("local")
    assert served.session.undo_compaction()["messagesRestored"] == 2
    assert served.known() == ["b", "c", "d"]
    served.session.undo_compaction()
    assert served.known() == ["a", "b", "c", "d"]


def test_an_edit_between_two_compactions_outlives_both_undos(served: Served) -> None:
    """The later one can be taken back; the earlier one cannot, because the edit would be lost with it."""
    served.add("a")
    compact(served, "x")
    served.session.update_checkpoint({"summary": {**EMPTY, "decisions": ["x", "by hand"]}})
    served.add("b")
    compact(served, "x", "by hand", "y")
    served.session.undo_compaction()
    assert (served.session.checkpoint() or {})["summary"]["decisions"] == ["x", "by hand"]
    for _ in range(2):
        with pytest.raises(Conflict, match="edited"):
            served.session.undo_compaction()
        served.again()
    assert served.known() == ["b"]


def test_once_more_goes_back_no_further_than_an_edit(served: Served) -> None:
    served.add("a")
    compact(served, "x", backend="local")
    served.session.update_checkpoint({"summary": {**EMPTY, "decisions": ["x", "by hand"]}})
    served.add("b")
    compact(served, "x", "by hand", "y", backend="local")
    start = served.session.before("local")
    assert ([one.id for one in start.messages], start.past) == (["b"], 1)
    assert start.checkpoint["summary"]["decisions"] == ["x", "by hand"]


def test_once_more_keeps_what_was_pinned_since(served: Served) -> None:
    served.session.update_checkpoint({"summary": {**EMPTY, "decisions": ["old"]}})
    served.add("a")
    compact(served, "old", "new", backend="local")
    for item in items_of(served.session.checkpoint()):
        served.session.pin(item=item.id)
    start = served.session.before("local")
    assert {(item.text, item.pinned) for item in items_of(start.checkpoint)} == {("old", True), ("new", True)}


def test_a_message_that_was_pinned_meanwhile_stays(served: Served) -> None:
    served.add("a", "b")
    start = served.session.snapshot()
    served.session.pin(message="a")
    with pytest.raises(Conflict, match="changed while"):
        served.session.compact(start, ["a", "b"], checkpoint("x"))
    served.session.compact(start, ["b"], checkpoint("x"))
    assert served.known() == ["a"]


@pytest.mark.parametrize("nonsense", [None, 7, "x", [], [None, 7, {"id": 3}], {"id": "x"}, [{"id": "a", "text": "b"}]])
def test_items_that_another_program_damages_stay_as_they_were(served: Served, nonsense: Any) -> None:
    served.session.update_checkpoint({"summary": {**EMPTY, "pending": ["kept", "open"]}})
    served.session.pin(item=items_of(served.session.checkpoint())[0].id)
    served.flush()
    found = json.loads(served.folder.document("checkpoint").read_text())
    found |= {"items": nonsense, "summary": {**found["summary"], "pending": ["more"]}}
    served.folder.document("checkpoint").write_text(json.dumps(found))
    served.flush()
    items = items_of(served.session.checkpoint())
    assert [(item.text, item.pinned) for item in items] == [("kept", True), ("more", False)]


def test_the_sizes_of_a_chat_follow_each_change(served: Served) -> None:
    def count(text: str) -> int:
        """Of what was said: the tags around it stay out."""
        return len(text.splitlines()[1])

    served.add("a", "b")
    assert served.session.tokens(count) == 2 * len("text of a")
    most = served.session.most_tokens
    compact(served, "x", keep=1)
    assert served.session.tokens(count) == len("text of a")
    served.session.undo_compaction()
    assert (served.session.tokens(count), served.session.most_tokens) == (2 * len("text of a"), most)
    served.again()
    assert (served.session.tokens(count), served.session.most_tokens) == (2 * len("text of a"), most)
    edited = served.app.read()
    edited["messages"][0]["content"] = "longer than it was before"
    served.app.write(edited)
    served.flush()
    assert served.session.tokens(count) == len("text of b") + len("longer than it was before")
    served.session.clear()
    assert (served.session.tokens(count), served.session.most_tokens) == (0, 0)


# --- what a model answers late ------------------------------------------------------------------------------------


def stand_in(served: Served, *ids: str) -> Any:
    """A model is asked about `ids`, and meanwhile all that is in chat is compacted without it."""
    served.add(*ids)
    asked = served.session.snapshot()
    served.add("meanwhile")
    compact(served, "by rules", backend="local")
    return asked


def test_a_late_answer_takes_the_place_of_what_stepped_in_for_it(served: Served) -> None:
    """In one append and as one step back; what came after the question is in chat again."""
    served.add("first")
    compact(served, "old", backend="anthropic")
    before = documents(served)["checkpoint"]
    asked = stand_in(served, "a", "b")
    appended = len(served.records())
    served.session.compact(asked, ["a", "b"], checkpoint("by a model", backend="anthropic"), late=True)
    assert served.known() == ["meanwhile"]
    assert (served.session.checkpoint() or {})["summary"]["decisions"] == ["by a model"]
    back, left = served.records()[appended:]
    assert (back["t"], left["t"], back.get("more")) == ("back", "left", True)
    assert served.session.document()["stats"]["totalCompactions"] == 2
    served.again()
    assert served.session.undo_compaction()["messagesRestored"] == 2
    assert (served.known(), documents(served)["checkpoint"]) == (["a", "b", "meanwhile"], before)


@pytest.mark.parametrize("touched", ["edited", "pinned", "undone", "cleared", "compacted again", "a message edited"])
def test_a_late_answer_is_discarded_if_anything_else_was_done(served: Served, touched: str) -> None:
    asked = stand_in(served, "a", "b")
    if touched == "edited":
        served.session.update_checkpoint({"summary": {**EMPTY, "decisions": ["by hand"]}})
    elif touched == "pinned":
        served.session.pin(item=items_of(served.session.checkpoint())[0].id)
    elif touched == "undone":
        served.session.undo_compaction()
        served.session.pin(message="a")
    elif touched == "cleared":
        served.session.clear()
    elif touched == "compacted again":
        served.add("later")
        compact(served, "by rules", "more", backend="local")
    else:
        served.session.undo_compaction()
        raw = served.app.read()
        served.app.write({**raw, "messages": [{**one, "content": "other"} for one in raw["messages"]]})
        served.flush()
    known, held = served.known(), served.session.checkpoint()
    with pytest.raises(Conflict, match="changed while"):
        served.session.compact(asked, ["a", "b"], checkpoint("by a model", backend="anthropic"), late=True)
    assert (served.known(), served.session.checkpoint()) == (known, held)


def test_what_was_proposed_and_waited_does_not_take_the_place_of_another(served: Served) -> None:
    asked = stand_in(served, "a")
    with pytest.raises(Conflict, match="changed while"):
        served.session.compact(asked, ["a"], checkpoint("by a model", backend="anthropic"))


def test_an_undo_is_told_and_one_within_something_else_is_not(served: Served) -> None:
    asked = stand_in(served, "a")
    told: list[Any] = []
    served.session.announce = lambda *_, **fields: told.append(fields.get("action"))  # type: ignore[method-assign]
    served.session.compact(asked, ["a"], checkpoint("by a model", backend="anthropic"), late=True)
    served.session.undo_compaction()
    assert told == ["compacted", "undone"]
