"""For any legacy document, sound or damaged: what is good is in the session, a second run does nothing, and a rollback
restores every file."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dagentd.formats import legacy
from dagentd.formats.legacy import Converted
from dagentd.jobs import migration
from dagentd.model import jsontext
from dagentd.model.jsontext import Undecodable
from dagentd.settings import Settings
from dagentd.settings.tables import Watch
from tests.formats.documents import PLACES, damaged, document, entries
from tests.jobs.legacy_files import snapshot
from tests.store.place import FEATURE, Place
from tests.torture import reader
from tests.torture.reader import Files

QUICK = Settings(watch=Watch(settle_ms=1))
shapes = st.sampled_from(sorted(PLACES))
whole = shapes.flatmap(lambda shape: st.tuples(st.just(shape), entries.map(lambda held: document(shape, held))))
harmed = shapes.flatmap(lambda shape: st.tuples(st.just(shape), damaged(shape)))


def _in_file(shape: str, raw: Any) -> bytes:
    return jsontext.encode(raw.get("chat") if shape == "L5" else raw)


def _expected(shape: str, data: bytes) -> Converted | None:
    source = legacy.source_at(PLACES[shape], FEATURE)
    assert source is not None
    try:
        raw = jsontext.decode(data)
        if legacy.recognise(raw, source) != shape:
            return None
        return legacy.convert({"chat": raw} if shape == "L5" else raw, shape, source)
    except Undecodable:
        return None


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=whole | harmed, cut=st.integers(0, 400) | st.none())
def test_any_document(case: tuple[str, Any], cut: int | None, tmp_path_factory: pytest.TempPathFactory) -> None:
    """`cut`: only so many bytes of it, as a crash of an older app leaves."""
    shape, raw = case
    data = _in_file(shape, raw)[: cut if cut is not None and cut % 3 == 0 else None]
    place = Place(tmp_path_factory.mktemp("any") / "p").make()
    path = place.flat / PLACES[shape]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    before, expected = snapshot(place.root), _expected(shape, data)
    try:
        _check(place, path, before, expected)
    finally:
        shutil.rmtree(place.root)


def _check(place: Place, path: Path, before: dict[str, bytes], expected: Converted | None) -> None:
    with place.store() as store:
        first = migration.run(store, store.catalogue.feature(FEATURE), QUICK)
    if expected is None:
        assert snapshot(place.root) == before and all(file.error for file in first)
        return
    assert [(file.error, file.messages) for file in first] == [(None, len(expected.messages))]
    told = reader.agree(Files(place.flat / "sessions", expected.session_id))
    assert [told.content[one] for one in told.chat] == expected.messages
    after = snapshot(place.root)
    with place.store() as store:
        again = migration.run(store, store.catalogue.feature(FEATURE), QUICK)
        assert {file.action for file in again} <= {"none"}
    assert snapshot(place.root) == after
    with place.store() as store:
        taken = migration.rollback(store, store.catalogue.feature(FEATURE))
        assert [file.action for file in taken] == ["rolledBack"]
    with place.store() as store:
        store.reconciler.reconcile()
    assert snapshot(place.root) == before
    assert path.with_name(f"{path.name}.backup").read_bytes() == before[str(path.relative_to(place.root))]
