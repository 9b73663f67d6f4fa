"""A journal whose end was cut off: whole groups count, what is torn is gone from it and kept beside it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from dagentd.adapters.files import disk
from dagentd.store.documents import document_writer
from tests.store.place import PM, Place, said
from tests.torture import reader
from tests.torture.seeds import THOROUGH, of_the_run


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_writer, "_APART", 0.0)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "p").make()


class Tape:
    """A session before and after some appends, to be put back with a journal of any length."""

    def __init__(self, place: Place, appends: list[list[str]]) -> None:
        self.place = place
        with place.session() as session:
            session.add(said("first"))
        self.before = self._documents()
        self.ends: list[tuple[int, list[str]]] = []  # where each append ends, and what it brought
        with place.session() as session:
            self.start = place.pm.journal.stat().st_size
            for ids in appends:
                session.add(said(*ids))
                self.ends.append((place.pm.journal.stat().st_size, ids))
        self.after = self._documents()
        self.journal = place.pm.journal.read_bytes()

    def _documents(self) -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in self.place.pm.projections()}

    def cut(self, length: int, documents: dict[Path, bytes]) -> None:
        """In place: the journal is a link to the kept one. Only what was synced is ever sealed: no part has what a
        crash cut off."""
        with self.place.pm.journal.open("r+b") as file:
            file.write(self.journal)
            file.truncate(length)
        for path, data in documents.items():
            path.write_bytes(data)
        for path in (*self.place.pm.beside(self.place.pm.journal, "torn"), *self.place.kept.glob("*.z")):
            path.unlink()

    def lengths(self) -> list[int]:
        """All in `make torture`; else those around the ends of lines, and of the others one of a dozen, others each
        time."""
        every = range(self.start, len(self.journal) + 1)
        if THOROUGH:
            return list(every)
        first = of_the_run() % 12
        return [at for at in every if at % 12 == first or b"\n" in self.journal[at - 2 : at + 2]]

    def counted(self, length: int) -> list[str]:
        return ["first", *(one for end, ids in self.ends if end <= length for one in ids)]

    def torn(self, length: int) -> bytes:
        return self.journal[max([self.start, *(end for end, _ in self.ends if end <= length)]) : length]


@pytest.mark.more
@pytest.mark.parametrize("appends", [[["a"], ["b"], ["c"]], [["a"], ["b", "c", "d"]]], ids=["single", "group"])
def test_cut_at_every_byte(place: Place, appends: list[list[str]]) -> None:
    tape = Tape(place, appends)
    for length in tape.lengths():
        tape.cut(length, tape.before)
        with place.session() as session:
            assert [raw["id"] for raw in session.history()[0]] == tape.counted(length), length
            session.add(said("next"))
            torn = [problem for problem in session.problems if problem.id == "torn"]
        kept = place.pm.beside(place.pm.journal, "torn")
        assert [path.read_bytes() for path in kept] == ([tape.torn(length)] if tape.torn(length) else [])
        assert [problem.path for problem in torn] == [str(path) for path in kept]
        told = reader.agree(place.pm)
        assert told.chat == [*tape.counted(length), "next"] and not told.bad_lines
        reader.once(told, set())


def test_what_chat_still_has_comes_back(place: Place) -> None:
    """Acknowledged and shown: a cut from outside does not take it."""
    tape = Tape(place, [["a"], ["b", "c"]])
    for length in tape.lengths():
        tape.cut(length, tape.after)
        with place.session():
            pass
        told = reader.agree(place.pm)
        assert sorted(told.chat) == ["a", "b", "c", "first"], length
        reader.once(told, set())


@pytest.mark.parametrize("length", [0, 1, 40])
def test_a_journal_cut_into_its_first_record(place: Place, length: int) -> None:
    """Nothing of it counts; the documents still have what was shown."""
    tape = Tape(place, [["a"], ["b"]])
    tape.cut(length, tape.after)
    with place.session() as session:
        session.add(said("next"))
    told = reader.agree(place.pm)
    assert told.chat == ["first", "a", "b", "next"] and told.session["status"] == "active"
    assert told.checkpoint is not None


def test_zeros_at_the_end_are_torn(place: Place) -> None:
    """What ext4 leaves after a power failure: the length was written, the data was not."""
    tape = Tape(place, [["a"]])
    with place.pm.journal.open("ab") as file:
        file.write(bytes(4096))
    with place.session() as session:
        session.add(said("next"))
    assert reader.agree(place.pm).chat == ["first", "a", "next"]
    assert [path.read_bytes() for path in place.pm.beside(place.pm.journal, "torn")] == [bytes(4096)]
    assert place.pm.journal.read_bytes().startswith(tape.journal)


def test_a_whole_line_that_is_no_record_stays(place: Place) -> None:
    Tape(place, [["a"]])
    with place.pm.journal.open("ab") as file:
        file.write(b"what is this\n")
    with place.session() as session:
        session.add(said("next"))
        assert [problem.path for problem in session.problems] == [str(place.pm.journal)]
    told = reader.agree(place.pm)
    assert told.bad_lines == [b"what is this\n"] and told.chat == ["first", "a", "next"]
    assert place.pm.beside(place.pm.journal, "torn") == []


def test_torn_again_and_again_each_is_kept(place: Place) -> None:
    Tape(place, [["a"]])
    for number in (1, 2, 3):
        with place.pm.journal.open("ab") as file:
            file.write(b'{"t": %d' % number)
        with place.session():
            pass
    kept = place.pm.beside(place.pm.journal, "torn")
    assert [path.read_bytes() for path in kept] == [b'{"t": 1', b'{"t": 2', b'{"t": 3']
    assert {path.stat().st_mode & 0o777 for path in kept} == {0o600}


def test_a_kept_copy_is_not_left_with_a_torn_end(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the kept journal is no link but a copy, each append goes to both: neither may be glued to half a line."""

    def no_links(what: str, path: str | Path) -> None:
        if what == "link":
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    monkeypatch.setattr(disk, "step", no_links)
    Tape(place, [["a"]])
    with place.pm.journal.open("ab") as file:
        file.write(b'{"t": "mess')
    with place.session() as session:
        session.add(said("next"))
        assert "kept-by-copy" in {problem.id for problem in session.problems}
    (kept,) = place.kept.glob(f"{PM}.*.jsonl")
    assert kept.read_bytes() == place.pm.journal.read_bytes()
    assert reader.read_journal(kept).chat == ["first", "a", "next"]
