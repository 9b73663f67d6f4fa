"""The summary of a checkpoint has its five lists at any time: the app reads each of them without looking."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dagentd.model.compaction.items import SEEDS
from tests.store.place import PM, Place
from tests.torture.desktop_app import DesktopApp


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "p").make()


def test_lists_that_are_not_named_stay(place: Place) -> None:
    """Setting the decisions alone replaced the whole summary, after which the app threw in buildRequest."""
    with place.session() as session:
        session.update_checkpoint({"summary": {"pending": ["later"], "decisions": ["first"]}})
        answered = session.update_checkpoint({"summary": {"decisions": ["second"], "theirs": 1}})
        session.reconcile()
    wanted = {name: [] for name in SEEDS} | {"pending": ["later"], "decisions": ["second"], "theirs": 1}
    assert answered["summary"] == wanted
    assert json.loads(place.pm.checkpoint.read_bytes())["summary"] == wanted


def test_what_others_left_out_is_there_in_ours(place: Place) -> None:
    with place.session() as session:
        session.add([{"role": "user", "content": "hello"}])
    journal = place.pm.journal.read_bytes().splitlines(keepends=True)
    records = [json.loads(line) for line in journal]
    for record in records:
        if record["t"] == "checkpoint":
            record["checkpoint"]["summary"] = {"decisions": ["as an earlier version wrote it"]}
    place.pm.journal.write_text("".join(json.dumps(record) + "\n" for record in records))
    place.pm.checkpoint.unlink()
    with place.session() as session:
        assert (session.checkpoint() or {})["summary"].keys() >= set(SEEDS)
        session.reconcile()
    assert json.loads(place.pm.checkpoint.read_bytes())["summary"].keys() >= set(SEEDS)


def test_of_a_session_of_the_newest_app_which_has_only_a_memory(place: Place) -> None:
    app = DesktopApp(place.flat, "feat-login", newest=True)
    app.add(app.session(), "hello")
    app.compact(app.session(), critical=["never cookies"], important=["tokens"], minor=["blue"])
    with place.store() as store, store.sessions.using(PM) as session:
        session.reconcile()
        assert (session.checkpoint() or {})["summary"].keys() >= set(SEEDS)
    assert json.loads(place.pm.checkpoint.read_bytes())["summary"]["decisions"] == ["never cookies", "tokens"]
