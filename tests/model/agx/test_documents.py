"""The seed's own examples: loaded, believed, and written back equal but for what changed."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from dagentd.agx import configuration, index_entries, lifecycle, schema, session_document
from dagentd.agx.values import changed, overlaid
from dagentd.errors import Conflict, CorruptFile
from dagentd.model import jsontext
from dagentd.model.documents import Document
from tests.model.agx.seed import example

NOW = datetime(2025, 1, 24, 15, 0, tzinfo=UTC)
SHAPES: dict[str, type[Document]] = {"session": schema.Session, "index": schema.Index}
KEYS = {"global-config": configuration.GLOBAL, "project-config": configuration.PROJECT}


def text(raw: dict[str, Any]) -> str:
    """With the order of its keys."""
    return json.dumps(raw)


@pytest.mark.parametrize("name", [*SHAPES, *KEYS])
def test_the_examples_are_believed_and_written_back_as_they_are(name: str) -> None:
    raw = example(name)
    if name in SHAPES:
        SHAPES[name].parse(raw)
    else:
        assert configuration.believed(KEYS[name], raw) == ({key: raw[key] for key in raw if key != "version"}, [])
    assert not schema.is_older(raw, Path("x"))
    assert text(json.loads(jsontext.pretty(raw))) == text(raw)
    assert jsontext.pretty(raw).startswith(b'{\n  "version": "1.0.0"')


def test_a_change_leaves_all_else_in_its_place() -> None:
    before = example("session")
    after = session_document.with_git(before, session_document.Git("main", "f" * 40, "origin/main", True))
    expected = text(before).replace("abc123def456\", \"gitRemote\": \"origin/main\"",
                                    "ffffffffffff\", \"gitRemote\": \"origin/main\", \"gitDirty\": true")  # fmt: skip
    assert text(after) == expected
    assert text(before) == text(example("session"))


def test_the_index_entry_of_the_example_session_is_that_of_the_example_index() -> None:
    raw, held = example("session"), example("index")["sessions"][0]
    made = index_entries.index_entry(raw, Path(held["sessionFile"]), Path(held["projectPath"]))
    assert list(made) == list(held)
    assert made["status"] == held["status"] and made["runtime"] == held["runtime"] and made["git"] == held["git"]
    assert text({**made, "metadata": held["metadata"]}) == text(held)
    assert overlaid({**held, "theirs": 1, "git": {"ahead": 2}}, made)["theirs"] == 1
    assert overlaid({**held, "git": {"ahead": 2}}, made)["git"] == {"ahead": 2, **held["git"]}


def test_the_index_is_written_as_json_of_two_spaces() -> None:
    raw = example("index")
    entries = [index_entries.encoded(each) for each in raw["sessions"]]
    assert b"".join(index_entries.whole(raw, index_entries.joined(entries))) == jsontext.pretty(raw)
    assert b"".join(index_entries.whole(raw, b"")) == jsontext.pretty({**raw, "sessions": []})
    assert b"".join(index_entries.whole({**raw, "sessions": []}, index_entries.joined(entries * 3))) == jsontext.pretty(
        {**raw, "sessions": raw["sessions"] * 3}
    )


def test_the_configurations_of_the_example_are_in_effect() -> None:
    found = configuration.effective(
        example("global-config"), example("project-config"), cleanup_days=9, index_interval=1
    )
    defaults = configuration.default_values()
    defaults["claude"]["defaultModel"] = "claude-3-sonnet"  # the example's is not served any more
    assert example("global-config") == defaults
    assert (found.cleanup_days, found.index_interval, found.compact_threshold) == (30, 300, 100_000_000)
    assert [each.name for each in found.windows] == ["main", "test", "server"]
    assert found.windows[1].command == "npm run test:watch"
    assert found.branch_sessions and not found.auto_cleanup and found.working_directory == "src/"
    assert found.attach_timeout == 10


def test_without_files_the_settings_count() -> None:
    found = configuration.effective({}, {}, cleanup_days=9, index_interval=77)
    assert (found.cleanup_days, found.index_interval, found.branch_sessions) == (9, 77, True)
    raw = {"session": {"autoBranchSessions": True}}
    assert not configuration.effective(
        raw, {"session": {"branchSessions": False}}, cleanup_days=9, index_interval=77
    ).branch_sessions


@pytest.mark.parametrize("version", ["1.0.1", "1.1.0", "1.12"])
def test_a_later_one_of_the_same_major_is_read_as_it_is(version: str) -> None:
    assert not schema.is_older({"version": version}, Path("x.json"))


@pytest.mark.parametrize("version", ["2.0.0", "10.0"])
def test_what_is_newer_is_refused_with_what_to_do(version: str) -> None:
    with pytest.raises(Conflict, match=f"its format is {version}, this dagentd knows 1.0.0") as refused:
        schema.is_older({"version": version}, Path("x.json"))
    assert "Update dagentd" in refused.value.hint and refused.value.path == "x.json"


@pytest.mark.parametrize("version", [1, None, "", "one", "1", {}])
def test_what_is_no_version(version: object) -> None:
    with pytest.raises(CorruptFile, match="wrong 'version'"):
        schema.is_older({"version": version}, Path("x.json"))


@pytest.mark.parametrize("old", [{}, {"version": "0.9.0"}, {"version": "0.9"}])
def test_what_is_older_keeps_all_it_has_and_gets_what_it_lacks(old: dict[str, Any]) -> None:
    old = {**old, "sessionId": "main", "theirs": [1], "metadata": {"notes": "x"}}
    assert schema.is_older(old, Path("x"))
    made = schema.migrate_document(
        old,
        lambda _: session_document.new("main", Path("/p"), configuration.Config(), "main", session_document.Git(), NOW),
    )
    schema.Session.parse(made)
    assert made["version"] == "1.0.0" and made["theirs"] == [1] and made["metadata"] == {"notes": "x"}
    assert lifecycle.state_of(made) == "created"
    assert schema.migrate_document(made, lambda _: {}) == made, "once is enough"


def test_a_new_session_has_the_shape_of_the_example() -> None:
    made = session_document.new(
        "main", Path("/home/u/shop"), configuration.Config(), "main", session_document.Git("main", "a" * 40), NOW
    )
    schema.Session.parse(made)
    wanted = example("session")
    assert list(made) == list(wanted)
    for part in ("tmux", "claude", "metadata", "statistics", "lifecycle"):
        kept = [each for each in wanted[part] if each != "commandsExecuted"]  # nobody can count those
        assert list(made[part]) == kept, part
    assert made["tmux"]["sessionName"] == "agx-shop-main"
    assert made["project"]["gitCommit"] == "a" * 12


def test_changed_makes_what_is_not_there() -> None:
    assert changed({"a": 1}, "b", "c", d=2) == {"a": 1, "b": {"c": {"d": 2}}}
