"""Documents of other programs, changed in any way: each is refused, or all that is done with it works."""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from dagentd.adapters.tmux import TmuxSession
from dagentd.agx import (
    cleanup_plan,
    configuration,
    index_entries,
    lifecycle,
    schema,
    session_document,
    tmux_windows,
)
from dagentd.agx.cleanup_plan import Trashed
from dagentd.agx.session_document import Claude, Git
from dagentd.agx.values import overlaid
from dagentd.errors import NotAllowed
from dagentd.model import jsontext
from dagentd.model.documents import Document
from dagentd.model.jsontext import Undecodable
from tests.model.agx.seed import example

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ODD = [
    "",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-14:00",
    "999999999w",
    "30d",
    "\ud800",
    "a\0b",
    "../..",
    "x" * 300,
]
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5) | st.sampled_from(ODD),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip


def places(raw: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value in a document."""
    items = raw.items() if isinstance(raw, dict) else enumerate(raw) if isinstance(raw, list) else ()
    return [way, *(deeper for key, value in items for deeper in places(value, (*way, key)))] if way or items else []


@st.composite
def altered(draw: st.DrawFn, name: str) -> dict[str, Any]:
    raw = copy.deepcopy(example(name))
    for way in draw(st.lists(st.sampled_from([each for each in places(raw) if each]), min_size=1, max_size=3)):
        held: Any = raw
        try:
            for key in way[:-1]:
                held = held[key]
            held[way[-1]] = draw(values)
        except (KeyError, IndexError, TypeError):
            continue
    return raw


def believed(raw: dict[str, Any], shape: type[Document]) -> bool:
    try:
        shape.parse(raw)
    except Undecodable:
        return False
    return True


@settings(max_examples=400)
@given(altered("session"))
def test_sessions(raw: dict[str, Any]) -> None:
    if not believed(raw, schema.Session):
        return
    for state in lifecycle.STATES:
        moved = lifecycle.moved(raw, state, "x", NOW)
        assert lifecycle.state_of(moved) == state
        again(moved)
    again(session_document.with_git(raw, Git("a", "b" * 40)))
    again(session_document.with_tmux(session_document.with_tmux(raw, TmuxSession("x", 1, 0, NOW, "/"), NOW), None, NOW))
    again(session_document.with_claude(raw, Claude("x", last="2026-01-01T00:00:00Z"), configuration.Config()))
    again(lifecycle.count_activity(raw, session_document.accessed(raw, NOW)))
    again(lifecycle.count_activity(raw, session_document.entered(raw, "x", NOW)))
    session_document.branch_of(raw)
    made = index_entries.index_entry(raw, Path("/p/x.json"), Path("/p"))
    assert json.loads(index_entries.encoded(made)) is not None
    cleanup_plan.plan([raw], None, configuration.Config(), NOW)
    try:
        tmux_windows.windows_digest(Path("/p"), tmux_windows.wanted_windows(raw, configuration.Config(), Path("/p")))
    except NotAllowed:
        return


def again(raw: dict[str, Any]) -> None:
    """What we make of it can be read again."""
    schema.Session.parse(jsontext.decode_object(jsontext.pretty(raw)))


@settings(max_examples=200)
@given(altered("global-config"), altered("project-config"))
def test_configurations(user: dict[str, Any], project: dict[str, Any]) -> None:
    home, own = (
        configuration.believed(configuration.GLOBAL, user)[0],
        configuration.believed(configuration.PROJECT, project)[0],
    )
    found = configuration.effective(home, own, cleanup_days=30, index_interval=300)
    assert 1 <= found.cleanup_days <= 36_500 and found.backup_count >= 1 and 1 <= found.index_interval <= 86_400
    session_document.new("main", Path("/p"), found, "main", Git(), NOW)
    cleanup_plan.emptied([Trashed("x", "x", NOW, 1)], found, NOW)
    try:
        tmux_windows.wanted_windows({}, found, Path("/p"))
    except NotAllowed:
        return


@settings(max_examples=200)
@given(altered("index"))
def test_indexes(raw: dict[str, Any]) -> None:
    if not believed(raw, schema.Index):
        return
    entries = [index_entries.encoded(each) for each in raw["sessions"]]
    assert json.loads(b"".join(index_entries.whole(raw, index_entries.joined(entries))))
    for each in raw["sessions"]:
        overlaid(each, index_entries.index_entry(example("session"), Path("/p/x.json"), Path("/p")))
        index_entries.is_active(each)
