"""Which files are legacy ones, by place and content."""

from __future__ import annotations

from typing import Any

import pytest

from dagentd.formats import legacy
from dagentd.formats.legacy import Newer, Source


@pytest.mark.parametrize(
    ("path", "task", "session", "shape"),
    [
        ("chat.json", None, None, "L1"),
        ("nodes/t-1/session.json", "t-1", None, "L2"),
        ("nodes/t-1/chat.json", "t-1", None, "L3"),
        ("sessions/pm-feature-x.json", None, "pm-feature-x", "L4"),
        ("nodes/t-1/sessions/qa.json", "t-1", "qa", "L4"),
        ("sessions/chat_a-1.json", None, "a-1", "L5"),
        ("sessions/agent-description_a_b.json", None, "a_b", "L5"),
        ("nodes/t-1/sessions/checkpoint_a.json", "t-1", "a", "L5"),
        ("sessions/memory_s1.json", None, "s1", "L5"),
    ],
)
def test_places(path: str, task: str | None, session: str | None, shape: str) -> None:
    source = legacy.source_at(path, "f")
    assert source == Source(path, "f", task, session)
    assert legacy.recognise({"messages": []}, source) == shape


@pytest.mark.parametrize(
    "path",
    [
        "session.json",
        "chat.json.backup",
        "sessions/chat.json/x",
        "sessions/s1/chat.json",
        "sessions/session_s1.json",
        "sessions/history_s1.jsonl",
        "nodes/chat.json",
        "nodes/../chat.json",
        "nodes/a b/chat.json",
        "sessions/..json",
        "sessions/.hidden.json",
        "nodes/t/plan.json",
        "../chat.json",
        "chat.json\n",
    ],
)
def test_no_places(path: str) -> None:
    assert legacy.source_at(path, "f") is None


@pytest.mark.parametrize(
    ("path", "raw"),
    [
        ("chat.json", {"messages": [], "dagentd": {"pos": 0, "sum": ""}}),
        ("nodes/t/session.json", {"id": "s", "agentType": "dev", "files": {}}),
        ("sessions/index.json", {"sessions": []}),
        ("sessions/index.json", {"type": "index"}),
        ("sessions/index.json", {"type": ["pm-feature"]}),
        ("sessions/index.json", ["a"]),
        ("sessions/chat_s.json", []),
        ("sessions/chat_s.json", {"messages": [], "dagentd": {}}),
    ],
)
def test_what_is_not_legacy(path: str, raw: Any) -> None:
    source = legacy.source_at(path, "f")
    assert source is not None
    assert legacy.recognise(raw, source) is None


NAMED = {**legacy.OF_FEATURE, **legacy.OF_FLAT_FEATURE}
NAMED |= {f"nodes/t/{name}": shape for name, shape in legacy.OF_TASK.items()}


@pytest.mark.parametrize("raw", [None, 5, "x", [], {"entries": 5, "messages": 5}])
@pytest.mark.parametrize(("path", "shape"), NAMED.items())
def test_damage_in_a_legacy_place_is_recognised_so_that_it_is_told(path: str, shape: str, raw: Any) -> None:
    source = legacy.source_at(path, "f")
    assert source is not None
    assert legacy.recognise(raw, source) == shape


SOURCE = Source("nodes/t/chat.json", "f", "t", "s")


@pytest.mark.parametrize("version", [4, 4.0, "4", "4.1.0", "v10", 1e999])
@pytest.mark.parametrize("key", ["version", "formatVersion", "schemaVersion"])
@pytest.mark.parametrize("shape", ["L1", "L2", "L3", "L4"])
def test_a_newer_format_is_refused(shape: str, key: str, version: Any) -> None:
    with pytest.raises(Newer, match=r"is of format \S+, and this dagentd knows those up to 3"):
        legacy.convert({"type": "pm-feature", "messages": [], key: version}, shape, SOURCE)


@pytest.mark.parametrize("version", [1, 3, 3.9, "3.0", "v2", None, "latest", True, [9], {}])
@pytest.mark.parametrize("shape", ["L1", "L2", "L3", "L4"])
def test_an_older_one_is_not(shape: str, version: Any) -> None:
    raw = {"type": "pm-feature", "messages": [{"content": "Hi"}], "version": version}
    assert len(legacy.convert(raw, shape, SOURCE).messages) == 1


def test_the_version_of_a_checkpoint_counts_its_compactions() -> None:
    found = legacy.convert({"checkpoint": {"version": 12}}, "L5", SOURCE).checkpoint
    assert found is not None
    assert found["version"] == 12
    with pytest.raises(Newer):
        legacy.convert({"checkpoint": {"version": 1, "formatVersion": 4}}, "L5", SOURCE)
    with pytest.raises(Newer):
        legacy.convert({"chat": {"version": 4, "messages": []}}, "L5", SOURCE)
