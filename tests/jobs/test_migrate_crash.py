"""A migration that is killed at each of its writes, and a rollback likewise: before or after, and then completed."""

from __future__ import annotations

import itertools
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.jobs import legacy_files
from tests.jobs.legacy_files import LONE_ID, OLD_ID, chat, snapshot, task_session, write
from tests.store import reader
from tests.store.crash_child import Children, Job, children
from tests.store.place import PM, TASK, Place
from tests.store.reader import Files


@pytest.fixture(scope="module")
def lanes() -> Iterator[list[Children]]:
    with children() as one, children() as two, children() as three:
        yield [one, two, three]


def _first(place: Place, lane: Children) -> None:
    """Into a session that is not there."""
    place.make()
    write(place.flat / "chat.json", chat("a", "b", "c"))


def _grown(place: Place, lane: Children) -> None:
    """Into one that is."""
    place.make()
    assert lane.run(Job("seed", str(place.root))).status == 0
    write(place.flat / "chat.json", chat("a", "b", "c"))


def _task(place: Place, lane: Children) -> None:
    place.make()
    write(place.flat / "nodes" / TASK / "session.json", task_session("started", "tested"))


def _lone(place: Place, lane: Children) -> None:
    place.make()
    for name, raw in legacy_files.lone_documents("hello", "there").items():
        write(place.flat / "sessions" / f"{name}_{LONE_ID}.json", raw)
    summary = {"critical": ["no cookies"], "important": [], "minor": ["docs"]}
    write(place.flat / "sessions" / f"memory_{LONE_ID}.json", {"summary": summary})


def _single(place: Place, lane: Children) -> None:
    """Into a session that has a folder of its own."""
    place.make()
    write(place.nested / "sessions" / f"{OLD_ID}.json", legacy_files.single_file("go on", "why?"))


Prepare = Callable[[Place, Children], None]
PREPARE: list[Prepare] = [_first, _grown, _task, _lone, _single]


@pytest.mark.parametrize("power", [False, True], ids=["kill", "power"])
@pytest.mark.parametrize("prepare", PREPARE, ids=lambda prepare: prepare.__name__)
@pytest.mark.parametrize("op", ["migrate", "roll back"])
def test_crash_at_every_write(op: str, prepare: Prepare, power: bool, tmp_path: Path, lanes: list[Children]) -> None:
    def explore(lane: int) -> int:
        place, template = Place(tmp_path / f"p{lane}"), tmp_path / f"template{lane}"
        prepare(place, lanes[lane])
        originals = snapshot(place.root)
        whole = _migrated(place, template, lanes[lane], stay=op == "roll back")
        for count, point in enumerate(itertools.count(lane + 1, len(lanes))):
            shutil.rmtree(place.root)
            subprocess.run(["cp", "-a", str(template), str(place.root)], check=True)  # keeps hard links
            outcome = lanes[lane].run(Job(op, str(place.root), crash=point, power=power))
            if not outcome.crashed:
                assert outcome.status == 0
                return count
            _check_crashed(place, originals, whole, op)
            _check_completed(place, originals, whole, op, lanes[lane], point)
        raise AssertionError("unreachable")

    with ThreadPoolExecutor(len(lanes)) as pool:
        points = sum(pool.map(explore, range(len(lanes))))
    assert points > 3
    sys.stdout.write(f"{op} {prepare.__name__}, {'power failure' if power else 'kill'}: {points} points\n")


def _migrated(place: Place, template: Path, lane: Children, stay: bool) -> dict[str, list[str]]:
    """What each session says once all is migrated. The template has that, or what was there before."""
    before = template.with_name(f"{template.name}-before")
    subprocess.run(["cp", "-a", str(place.root), str(before)], check=True)
    assert lane.run(Job("migrate", str(place.root))).status == 0
    told = _told(place)
    shutil.move(str(place.root) if stay else str(before), str(template))
    if not stay:
        return told
    before.rename(place.root)
    return told


def _told(place: Place) -> dict[str, list[str]]:
    return {path.name: reader.read_journal(path).chat for path in _journals(place)}


def _journals(place: Place) -> list[Path]:
    return [path for tree in (place.flat, place.nested) for path in tree.rglob("history*.jsonl")]


def _check_crashed(place: Place, originals: dict[str, bytes], whole: dict[str, list[str]], op: str) -> None:
    """Of the messages all are there or none, and the originals are there or backed up."""
    for path in _journals(place):
        told = reader.read_journal(path).chat
        imported = [one for one in told if one in whole[path.name]]
        before = [one for one in whole[path.name] if one in ("m0", "m1", "m2")]
        assert imported in (whole[path.name], before)
    for name, data in originals.items():
        path = place.root / name
        if name.endswith(("chat.json", f"{TASK}/session.json", f"{OLD_ID}.json")):
            assert path.read_bytes() == data
        elif LONE_ID in name:
            held = [path, path.with_name(f"{path.name}.backup")]
            assert data in [each.read_bytes() for each in held if each.exists()]


def _check_completed(
    place: Place, originals: dict[str, bytes], whole: dict[str, list[str]], op: str, lane: Children, point: int
) -> None:
    assert lane.run(Job("open", str(place.root))).status == 0
    assert lane.run(Job(op, str(place.root))).status == 0
    assert reader.temps(place.root) == []
    numbered = [path for path in place.root.rglob("*.backup.1") if path.name != "feature.json.backup.1"]
    assert numbered == [], "the original is backed up once"
    if op == "migrate":
        assert _told(place) == whole
        for path in _journals(place):
            named = path.parent.name if path.name == "history.jsonl" else path.stem.removeprefix("history_")
            told = reader.agree(Files(path.parent, named))
            assert told.session["migratedFrom"], "it is noted where it came from"
        assert lane.run(Job("roll back", str(place.root))).status == 0
    if PM not in str([name for name in originals if "session_" in name]):
        # what a power failure left of a document that was not synced again is set aside
        after = {name: data for name, data in snapshot(place.root).items() if ".corrupt." not in name}
        assert after == originals, point
