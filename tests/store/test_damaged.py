"""A journal damaged at the worst moment: what was found by damaging it at random (tests/torture/damage.py)."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dagentd.adapters.files import disk, marks
from dagentd.model import jsontext, records
from dagentd.store.journal import recovery
from dagentd.store.journal.index import Index
from dagentd.store.journal.journal import Journal
from dagentd.store.store import Store
from tests.store.app import said
from tests.store.served import Served


def _fill(served: Served, text: str) -> None:
    """Zeros over the end of a record and its beginning."""
    place = served.journal.read_bytes().rindex(text.encode())
    with served.journal.open("r+b") as file:
        file.seek(place - 40)
        file.write(bytes(60))


def _over(source: Path, target: Path) -> None:
    target.write_bytes(source.read_bytes())


def _instead(source: Path, target: Path) -> None:
    os.replace(shutil.copy2(source, target.with_name("copy")), target)


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    return tmp_path / "backup"


def _at_sync(served: Served, monkeypatch: pytest.MonkeyPatch, damage: Callable[[], None]) -> None:
    """Once, while what was appended to the journal is being synced."""
    before, waiting = disk.step, [damage]

    def step(what: str, path: str | Path) -> None:
        if what == "fdatasync" and path == served.journal and waiting:
            waiting.pop()()
        before(what, path)

    monkeypatch.setattr(disk, "step", step)


def test_damaged_while_an_append_is_synced(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was taken for our own write."""
    served.add("a", "b")
    served.session.clear()
    served.flush()
    _at_sync(served, monkeypatch, lambda: _fill(served, '"text of b"'))
    served.session.add([{"id": "c", "role": "user", "content": "text of c"}])
    served.again()
    assert served.all() == ["a", "b", "c"] and b"\0" * 60 in served.journal.read_bytes()


def test_a_part_of_a_line_is_taken_out_while_it_is_synced(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its id is there, and counted as all that was said."""

    def damage() -> None:
        data = served.journal.read_bytes()
        place = data.index(b"of b")
        served.journal.write_bytes(data[:place] + data[place + 3 :])

    served.add("a")
    _at_sync(served, monkeypatch, damage)
    served.add("b", "c")
    for _ in range(2):
        said = [(each["id"], each["content"]) for each in served.session.history()[0]]
        assert said == [(one, f"text of {one}") for one in "abc"] and served.known() == ["a", "b", "c"]
        served.again()


def test_damage_that_nobody_could_notice_is_found_by_who_reads(served: Served) -> None:
    """By as many bytes in the very moment of our own write."""
    served.add("a", "b")
    served.session.clear()
    served.flush()
    _fill(served, '"text of b"')
    served.session._journal.file.ours = marks.of(served.journal)
    assert served.all() == ["a", "b"]


def test_a_damaged_checkpoint_that_nobody_could_notice(served: Served) -> None:
    served.session.update_checkpoint({"summary": {"decisions": ["kept"]}})
    served.add("a")
    _fill(served, '"kept"')
    served.session._journal.file.ours = marks.of(served.journal)
    served.again()
    assert (served.session.checkpoint() or {})["summary"]["decisions"] == ["kept"]


def test_an_older_checkpoint_is_damaged(served: Served) -> None:
    """Whoever writes on that one is compared with nothing."""
    for name in ("first", "second"):
        served.session.update_checkpoint({"summary": {"decisions": [name]}})
    served.flush()
    _fill(served, '"first"')
    theirs = served.app.new_checkpoint(2, "2026-01-01T00:00:00.000Z", decisions=["first", "theirs"])
    served.app.write(theirs, "checkpoint")
    served.flush()
    assert {"second", "theirs"} <= {*(served.session.checkpoint() or {})["summary"]["decisions"]}


def test_what_left_chat_was_in_the_app_s_file_only(served: Served, backup: Path) -> None:
    """That was written over, and the journal was the last to have it."""
    served.add("a")
    shutil.copy2(served.journal, backup)
    served.app.push(said("theirs"))
    with served.session._projections.still():
        served.session._projections.look()
        served.session.clear()
    served.flush()
    assert served.shown() == []
    _over(backup, served.journal)
    served.flush()
    assert served.all() == ["a", "theirs"] and served.known() == []


def test_a_group_that_was_damaged_before_it_was_answered(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another file has the name, with the first and the last of it."""

    def damage() -> None:
        _instead(served.journal, served.journal)
        _fill(served, '"text of c"')

    served.add("a")
    _at_sync(served, monkeypatch, damage)
    served.add("b", "c", "d")
    for _ in range(2):
        assert served.all() == served.known() == ["a", "b", "c", "d"]
        served.again()


def test_another_file_that_is_damaged_too_moves_nothing(served: Served, backup: Path) -> None:
    """What was put back there says behind which it stands, and that one is damaged since."""
    served.add("a", "b", "c")
    shutil.copy2(served.journal, backup)
    served.add("d")
    _fill(served, '"text of c"')
    served.again()
    served.close()
    _fill(served, '"text of b"')
    _instead(backup, served.journal)
    served.open()
    for _ in range(2):
        assert served.all() == served.known() == ["a", "b", "c", "d"]
        served.again()


@pytest.mark.parametrize("left", [b"", b'{"messages": ['])
def test_no_journal_and_a_chat_that_makes_no_sense(served: Served, left: bytes) -> None:
    """The kept file has all of it: it could not be served at all."""
    served.add("a", "b")
    served.close()
    served.journal.unlink()
    served.app.paths["chat"].write_bytes(left)
    served.open()
    served.flush()
    assert served.all() == served.known() == served.shown() == ["a", "b"] and len(served.kept) == 1
    assert json.loads(served.journal.read_bytes().splitlines()[0])["t"] == "session"


@pytest.mark.parametrize("running", [True, False])
def test_somebody_found_a_backup_of_what_was_lost(served: Served, backup: Path, running: bool) -> None:
    """It ends where the journal did, so nothing that was known is lacking; its message counted as lost all the same."""
    served.add("a", "b", "c")
    shutil.copy2(served.journal, backup)
    served.session.clear()
    served.close()
    for path in [*served.project.kept_dir.glob("*.z"), *backup.parent.glob("index.sqlite*")]:
        path.unlink()
    length = backup.stat().st_size
    os.truncate(served.journal, length)
    _fill(served, '"text of b"')
    served.open()
    served.flush()
    assert "b" not in served.all()
    if not running:
        served.close()
    data = served.journal.read_bytes()
    served.journal.write_bytes(backup.read_bytes() + data[length:])
    served.flush() if running else served.open()
    assert served.all() == ["a", "b", "c"]


def test_its_first_line_is_gone(served: Served) -> None:
    """A journal that does not begin with a session is not another session's: what the index knows goes back in."""
    served.add("a", "b")
    served.session.clear()
    served.close()
    lines = served.journal.read_bytes().splitlines(keepends=True)
    copy = served.journal.with_name("sed")
    copy.write_bytes(b"".join(lines[1:3]))
    os.truncate(served.journal, len(lines[0]))
    os.replace(copy, served.journal)
    served.open()
    assert served.all() == ["a", "b"] and served.known() == []


@pytest.mark.parametrize("torn", [b"", b'{"t": "mess'])
def test_somebody_appends_while_it_is_read(served: Served, torn: bytes) -> None:
    """As who serves the same file by a hard link in another worktree: adding ended in an error, Invalid argument."""
    served.add("a")
    served.close()
    line = served.journal.read_bytes().splitlines(keepends=True)[-1].replace(b'"a"', b'"b"')
    journal = Journal.open(served.journal)
    try:
        with served.journal.open("ab") as file:
            file.write(line + torn)
        recovery.read_state(journal, Index(None).journal(served.journal))
        journal.cut_tail()
        assert journal.size == served.journal.stat().st_size - len(torn)
    finally:
        journal.close()
    served.open()
    assert served.all() == ["a", "b"]


def test_the_same_part_is_sealed_by_somebody_else_just_now(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by one who let go of the session while its folder was moved: that was a bug in the eyes of who added."""
    before = disk.step

    def step(what: str, path: str | Path) -> None:
        if what == "rename" and str(path).endswith(".z"):
            Path(path).write_bytes(b"")
        before(what, path)

    served.session.add([{"id": "a", "role": "user", "content": "text of a"}])
    served.session.clear()
    monkeypatch.setattr(disk, "step", step)
    served.flush()
    assert served.shown() == []


def _garbled(served: Served, place: int) -> None:
    with served.journal.open("r+b") as file:
        file.seek(place)
        file.write(b"\xff" * 4)


def _truncated(served: Served, place: int) -> None:
    os.truncate(served.journal, place)


@pytest.mark.parametrize("damage", [_garbled, _truncated])
@pytest.mark.parametrize("kept", [True, False])
def test_the_last_of_a_group_is_damaged(served: Served, kept: bool, damage: Callable[[Served, int], None]) -> None:
    """With it all of its group was cut off, and the others of it, which had been whole, were listed as lost."""
    served.add("a")
    served.add("b", "c", "d")
    served.close()
    for path in served.project.kept_dir.glob("*" if not kept else "*.z"):
        path.unlink()
    damage(served, served.journal.read_bytes().rindex(b'"text of d"'))
    served.app.paths["chat"].write_bytes(b"")
    served.open()
    served.flush()
    assert served.all() == served.known() == ["a", "b", "c"]
    assert [json.loads(line)["id"] for line in recovery.list_of(served.journal).read_bytes().splitlines()] == ["d"]


def test_we_die_when_the_end_with_a_damaged_group_was_cut(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was whole in it is then only where it was put aside."""
    served.add("a")
    served.add("b", "c", "d")
    served.close()
    for path in served.project.kept_dir.glob("*.z"):
        path.unlink()
    _garbled(served, served.journal.read_bytes().rindex(b'"text of d"'))
    served.app.paths["chat"].write_bytes(b"")
    with monkeypatch.context() as patched:
        patched.setattr(Journal, "append", lambda *_: sys.exit("killed"))
        with pytest.raises(SystemExit):
            served.open()
        served.close()
    assert b'"text of c"' not in served.journal.read_bytes()
    served.open()
    assert served.all() == ["a", "b", "c"]


def test_the_last_of_a_group_is_damaged_while_we_have_it_open(served: Served) -> None:
    served.add("a")
    served.add("b", "c", "d")
    served.session.clear()
    served.flush()
    for path in served.project.kept_dir.glob("*.z"):
        path.unlink()
    _truncated(served, served.journal.read_bytes().rindex(b'"text of d"'))
    served.flush()
    assert served.all() == ["a", "b", "c"]


@pytest.mark.parametrize("running", [True, False], ids=["running", "stopped"])
@pytest.mark.parametrize("in_chat", [True, False], ids=["in chat", "left"])
def test_one_line_that_is_made_of_two(served: Served, in_chat: bool, running: bool) -> None:
    """As where a file is overwritten piece by piece: it begins with one message and goes on with another, which nobody
    said."""
    served.add("a", "b", "c")
    if not in_chat:
        served.session.clear()
        served.flush()
    if not running:
        served.close()
    data = served.journal.read_bytes()
    served.journal.write_bytes(data[: data.index(b" of a")] + data[data.index(b" of b") :])
    served.flush() if running else served.open()
    for _ in range(2):
        served.flush()
        said = [(each["id"], each["content"]) for each in served.session.history()[0]]
        assert said == [(one, f"text of {one}") for one in "abc"]
        assert served.known() == (["a", "b", "c"] if in_chat else [])
        served.again()


@pytest.mark.parametrize("running", [True, False], ids=["running", "stopped"])
def test_what_a_line_that_is_made_of_two_said_is_nowhere(served: Served, backup: Path, running: bool) -> None:
    """Only the message whose end it has was listed as lost; the other one is there, with words that nobody said."""
    served.add("a", "b", "c")
    shutil.copy2(served.journal, backup)
    served.session.clear()
    served.flush()
    if not running:
        served.close()
    _unsealed(served)
    data = served.journal.read_bytes()
    served.journal.write_bytes(data[: data.index(b" of a")] + data[data.index(b" of b") :])
    served.flush() if running else served.open()
    for _ in range(3):
        assert _listed(served) == ["a", "b"] and "journal-lost" in served.problems()
        served.again()
    served.journal.write_bytes(backup.read_bytes() + data[backup.stat().st_size :])
    for _ in range(2):
        served.flush()
        said = [(each["id"], each["content"]) for each in served.session.history()[0]]
        assert said == [(one, f"text of {one}") for one in "abc"] and served.known() == []
        assert "journal-lost" not in served.problems()
        served.again()


def _unsealed(served: Served) -> None:
    for path in served.project.kept_dir.glob("*.z"):
        path.unlink()


def _listed(served: Served) -> list[str]:
    return [json.loads(line)["id"] for line in recovery.list_of(served.journal).read_bytes().splitlines()]


def _behind_damage(served: Served, monkeypatch: pytest.MonkeyPatch, last: records.Record) -> None:
    """In the append of a message of which part is taken out meanwhile."""

    def damage() -> None:
        data = served.journal.read_bytes()
        place = data.index(b"of c")
        served.journal.write_bytes(data[:place] + data[place + 3 :])

    raw = {"id": "c", "role": "user", "content": "text of c", "timestamp": "2026-01-01"}
    both = [records.message(raw, jsontext.encode(raw), "now"), last]
    _at_sync(served, monkeypatch, damage)
    served.session._journal.submit(lambda _: (both, None))


def _compactions(served: Served) -> object:
    return served.app.read("session")["stats"]["totalCompactions"]


def test_an_undo_that_is_said_again_counts_once(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """One more compaction counted as undone."""

    def doc(version: int) -> dict[str, Any]:
        return {**(served.session.checkpoint() or {}), "version": version}

    served.add("a", "b")
    twice = [records.left([one], "compacted", "now", doc(version)) for one, version in (("a", 2), ("b", 3))]
    served.session._journal.submit(lambda _: (twice, None))
    _behind_damage(served, monkeypatch, records.back(["b"], "now", doc(4)))
    for _ in range(2):
        served.flush()
        assert served.all() == ["a", "b", "c"] and served.known() == ["b", "c"]
        assert len(served.records("back")) == 2 and _compactions(served) == 1
        served.again()


def test_a_compaction_that_is_said_again_counts_once(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with a checkpoint that lacks a list that every program knows."""
    served.add("a")
    _behind_damage(served, monkeypatch, records.left(["a"], "compacted", "now", {"version": 2, "summary": {}}))
    for _ in range(2):
        served.flush()
        assert served.all() == ["a", "c"] and served.known() == ["c"]
        assert len(served.records("left")) == 2 and _compactions(served) == 1
        served.again()


@pytest.mark.parametrize("glued", [b"no record\n", b"no rec"])
def test_what_leaves_while_the_journal_is_damaged(
    served: Served, monkeypatch: pytest.MonkeyPatch, glued: bytes
) -> None:
    """Its record was whole, with something behind it, and what was put back was in chat as before."""

    def damage() -> None:
        with served.journal.open("ab") as file:
            file.write(glued)
        place = served.journal.read_bytes().index(b'"text of b"')
        with served.journal.open("r+b") as file:
            file.seek(place - 40)
            file.write(bytes(60))

    served.add("a", "b")
    _at_sync(served, monkeypatch, damage)
    served.session.clear()
    for _ in range(2):
        served.flush()
        assert served.all() == ["a", "b"] and served.known() == served.shown() == []
        served.again()


def test_an_empty_journal_is_opened_again(served: Served) -> None:
    """As a worktree has one that was copied to a full disk: the index knew of nothing in it, and asked for the byte
    before."""
    served.add("a")
    served.close()
    for path in served.journal.parent.iterdir():
        path.write_bytes(b"")
    for path in [*served.project.kept_dir.iterdir(), *Path(str(served.index_file)).parent.glob("index.sqlite*")]:
        path.unlink()
    for _ in range(2):
        index = Index(served.index_file)
        store = Store(served.project, index)
        try:
            assert store.session(served.folder.id).chat() == []
        finally:
            store.close()
            index.close()
    served.open()
    served.add("b")
    assert served.all() == served.known() == served.shown() == ["b"]
