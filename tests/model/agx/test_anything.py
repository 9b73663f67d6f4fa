"""Documents of other programs, changed in any way: each is refused, or all that is done with it works."""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from dagentd.errors import NotAllowed
from dagentd.model import jsontext
from dagentd.model.agx import cleanup, config, index, keys, lifecycle, overlaid, session, shapes, statistics, windows
from dagentd.model.agx.cleanup import Trashed
from dagentd.model.agx.session import Claude, Git, Tmux
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
    if not believed(raw, shapes.Session):
        return
    for state in lifecycle.STATES:
        moved = lifecycle.moved(raw, state, "x", NOW)
        assert lifecycle.state_of(moved) == state
        again(moved)
    again(session.with_git(raw, Git("a", "b" * 40)))
    again(session.with_tmux(session.with_tmux(raw, Tmux("x", 1, 0, NOW, "/"), NOW), None, NOW))
    again(session.with_claude(raw, Claude("x", last="2026-01-01T00:00:00Z"), config.Config()))
    again(statistics.counted(raw, session.accessed(raw, NOW)))
    again(statistics.counted(raw, session.entered(raw, "x", NOW)))
    session.branch_of(raw)
    made = index.entry(raw, Path("/p/x.json"), Path("/p"))
    assert json.loads(index.encoded(made)) is not None
    cleanup.plan([raw], None, config.Config(), NOW)
    try:
        windows.digest(Path("/p"), windows.wanted(raw, config.Config(), Path("/p")))
    except NotAllowed:
        return


def again(raw: dict[str, Any]) -> None:
    """What we make of it can be read again."""
    shapes.Session.parse(jsontext.decode_object(jsontext.pretty(raw)))


@settings(max_examples=200)
@given(altered("global-config"), altered("project-config"))
def test_configurations(user: dict[str, Any], project: dict[str, Any]) -> None:
    home, own = keys.believed(keys.GLOBAL, user)[0], keys.believed(keys.PROJECT, project)[0]
    found = config.effective(home, own, cleanup_days=30, index_interval=300)
    assert 1 <= found.cleanup_days <= 36_500 and found.backup_count >= 1 and 1 <= found.index_interval <= 86_400
    session.new("main", Path("/p"), found, "main", Git(), NOW)
    cleanup.emptied([Trashed("x", "x", NOW, 1)], found, NOW)
    try:
        windows.wanted({}, found, Path("/p"))
    except NotAllowed:
        return


@settings(max_examples=200)
@given(altered("index"))
def test_indexes(raw: dict[str, Any]) -> None:
    if not believed(raw, shapes.Index):
        return
    entries = [index.encoded(each) for each in raw["sessions"]]
    assert json.loads(b"".join(index.whole(raw, index.joined(entries))))
    for each in raw["sessions"]:
        overlaid(each, index.entry(example("session"), Path("/p/x.json"), Path("/p")))
        index.is_active(each)
