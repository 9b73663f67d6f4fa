"""Crashes of a migration and of its rollback: before or after, the originals there, and then completed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.jobs import legacy_files
from tests.jobs.legacy_files import LONE_ID, OLD_ID, chat, snapshot, task_session, write
from tests.store.place import PM, TASK, Place
from tests.torture import reader
from tests.torture.explorer import Case, copy
from tests.torture.explorer_power import How
from tests.torture.explorer_wire import Job, Lane
from tests.torture.reader import Files


class MigrationCase(Case):
    def __init__(self, op: str, folder: Path, how: How, prepare: Prepare) -> None:
        super().__init__(op, folder, how)
        self.place = Place(self.root)
        self._prepare = prepare

    def prepare(self, lane: Lane) -> None:
        self._prepare(self.place, lane)
        self.originals = snapshot(self.root)
        before = self.root.with_name("before")
        copy(self.root, before)
        lane.done(Job("migrate", str(self.root)))
        self.whole = self._told()  # what each session says once all is migrated
        if self.op == "migrate":
            self.root.rename(self.root.with_name("migrated"))
            before.rename(self.root)

    def _told(self) -> dict[str, list[str]]:
        return {path.name: reader.read_journal(path).chat for path in self._journals()}

    def _journals(self) -> list[Path]:
        return [path for tree in (self.place.flat, self.place.nested) for path in tree.rglob("history*.jsonl")]

    def crashed(self, acked: list[str]) -> None:
        """Of the messages all are there or none, and the originals are there or backed up."""
        for path in self._journals():
            whole = self.whole[path.name]
            imported = [one for one in reader.read_journal(path).chat if one in whole]
            assert imported in (whole, [one for one in whole if one in ("m0", "m1", "m2")])
        for name, data in self.originals.items():
            path = self.root / name
            if name.endswith(("chat.json", f"{TASK}/session.json", f"{OLD_ID}.json")):
                assert path.read_bytes() == data
            elif LONE_ID in name:
                held = [path, path.with_name(f"{path.name}.backup")]
                assert data in [each.read_bytes() for each in held if each.exists()]

    def restarted(self, lane: Lane, acked: list[str]) -> None:
        for op in ("open", self.op):
            lane.done(Job(op, str(self.root)))
        assert reader.temps(self.root) == []
        numbered = [path for path in self.root.rglob("*.backup.1") if path.name != "feature.json.backup.1"]
        assert numbered == [], "the original is backed up once"
        if self.op == "migrate":
            self._check_migrated()
            lane.done(Job("roll back", str(self.root)))
        if PM not in str([name for name in self.originals if "session_" in name]):
            # what a power failure left of a document that was not synced again is set aside
            after = {name: data for name, data in snapshot(self.root).items() if ".corrupt." not in name}
            assert after == self.originals

    def _check_migrated(self) -> None:
        assert self._told() == self.whole
        for path in self._journals():
            named = path.parent.name if path.name == "history.jsonl" else path.stem.removeprefix("history_")
            told = reader.agree(Files(path.parent, named))
            assert told.session["migratedFrom"], "it is noted where it came from"


Prepare = Callable[[Place, Lane], None]


def first(place: Place, lane: Lane) -> None:
    """Into a session that is not there."""
    place.make()
    write(place.flat / "chat.json", chat("a", "b", "c"))


def grown(place: Place, lane: Lane) -> None:
    """Into one that is."""
    place.make()
    lane.done(Job("seed", str(place.root)))
    write(place.flat / "chat.json", chat("a", "b", "c"))


def task(place: Place, lane: Lane) -> None:
    place.make()
    write(place.flat / "nodes" / TASK / "session.json", task_session("started", "tested"))


def lone(place: Place, lane: Lane) -> None:
    place.make()
    for name, raw in legacy_files.lone_documents("hello", "there").items():
        write(place.flat / "sessions" / f"{name}_{LONE_ID}.json", raw)
    summary = {"critical": ["no cookies"], "important": [], "minor": ["docs"]}
    write(place.flat / "sessions" / f"memory_{LONE_ID}.json", {"summary": summary})


def single(place: Place, lane: Lane) -> None:
    """Into a session that has a folder of its own."""
    place.make()
    write(place.nested / "sessions" / f"{OLD_ID}.json", legacy_files.single_file("go on", "why?"))


CASES: list[tuple[str, Prepare]] = [
    (op, prepare) for op in ("migrate", "roll back") for prepare in (first, grown, task, lone, single)
]
