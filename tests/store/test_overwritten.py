"""A journal overwritten in place, as `cp -r` or `rsync --inplace` of a backup does it: what came since is put back from
wherever it still is, and what is nowhere is counted."""

from __future__ import annotations

import json
import os
import random
import shutil
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from dagentd.adapters.files import disk
from dagentd.doctor.kinds import is_grave, is_over
from dagentd.model.problem import Problem
from dagentd.store.journal import kept_journals
from tests.conftest import SampleProject
from tests.conftest import git as run_git
from tests.patience import until
from tests.store.app import said
from tests.store.served import Served

Overwrite = Callable[[Served, Path], None]


def _journal(served: Served, backup: Path) -> None:
    _over(backup / served.journal.name, served.journal)


def _folder(served: Served, backup: Path) -> None:
    for path in backup.iterdir():
        _over(path, served.folder.path / path.name)


def _over(source: Path, target: Path) -> None:
    """The same inode afterwards."""
    before = target.stat().st_ino
    with target.open("wb") as file:
        file.write(source.read_bytes())
    assert target.stat().st_ino == before


whole = pytest.mark.parametrize("overwrite", [_journal, _folder])
running = pytest.mark.parametrize("running", [True, False], ids=["running", "stopped"])


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    return tmp_path / "backup"


def _back_up(served: Served, backup: Path) -> None:
    """Without temp files, which come and go."""
    shutil.copytree(served.folder.path, backup, ignore=shutil.ignore_patterns(".*"))


def _meanwhile(served: Served, running: bool, overwrite: Overwrite, backup: Path) -> None:
    if running:
        overwrite(served, backup)
        served.flush()
    else:
        served.close()
        overwrite(served, backup)
        served.open()
        served.flush()


def _told(served: Served, kind: str = "journal-altered") -> Problem:
    (found,) = [each for each in served.session.problems if each.id == kind]
    return found


@whole
@running
def test_what_came_since_is_put_back(served: Served, backup: Path, running: bool, overwrite: Overwrite) -> None:
    served.add("a", "b")
    _back_up(served, backup)
    served.add("c", "d")
    served.session.update_checkpoint({"summary": {"decisions": ["kept"]}})
    served.flush()
    _meanwhile(served, running, overwrite, backup)
    for _ in range(2):
        assert served.known() == served.shown() == served.all() == ["a", "b", "c", "d"]
        assert served.app.read("checkpoint")["summary"]["decisions"] == ["kept"]
        assert len(served.written()) == 4
        if not _:
            assert "put back: 2" in _told(served).message
        served.again()


@whole
@running
def test_an_edit_that_came_since_is_put_back(served: Served, backup: Path, running: bool, overwrite: Overwrite) -> None:
    served.add("a", "b")
    _back_up(served, backup)
    chat = served.app.read()
    chat["messages"][0]["content"] = "other words"
    served.app.write(chat)
    served.flush()
    _meanwhile(served, running, overwrite, backup)
    assert [raw["content"] for raw in served.session.chat()] == ["other words", "text of b"]


def test_older_documents_over_it_and_no_journal(served: Served, backup: Path) -> None:
    """What an older checkpoint was is read from the journal, before anybody has noticed that there is none."""
    served.add("a")
    for number in range(3):
        served.session.update_checkpoint({"summary": {"decisions": [f"number {number}"]}})
        if number == 1:
            served.flush()
            _back_up(served, backup)
    served.add("b")
    served.flush()
    checkpoint = json.loads((backup / served.folder.document("checkpoint").name).read_text())
    checkpoint["summary"]["decisions"] = ["by the app"]
    del checkpoint["dagentd"]
    (backup / served.folder.document("checkpoint").name).write_text(json.dumps(checkpoint))
    _folder(served, backup)
    served.journal.write_bytes(b"")
    served.session._projections.look()
    served.flush()
    assert served.known() == served.all() == ["a", "b"]
    assert len(served.written()) == 2


@pytest.mark.parametrize("running", [True, False], ids=["running", "stopped"])
def test_a_second_file_has_all_of_it(apart: Served, backup: Path, running: bool) -> None:
    """Where the kept journal is a copy: also what had left chat, which nothing else holds."""
    apart.add("a")
    _back_up(apart, backup)
    apart.add("b", "c")
    apart.session.clear()
    apart.add("d")
    _meanwhile(apart, running, _folder, backup)
    for _ in range(2):
        assert apart.all() == ["a", "b", "c", "d"] and apart.known() == apart.shown() == ["d"]
        assert [each.read_bytes() for each in apart.kept if each.read_bytes() == apart.journal.read_bytes()]
        assert apart.store.catalogue.gone() == []
        apart.again()


def test_another_session_in_the_same_place_gets_nothing(served: Served, project: SampleProject) -> None:
    """Its worktree was removed and made again: that is no journal that somebody overwrote."""
    served.add("a", "b")
    served.close()
    run_git(project.root, "worktree", "remove", "--force", str(served.worktree))
    run_git(project.root, "worktree", "add", "-q", str(served.worktree), f"feature/{project.feature}")
    (served.worktree / ".dagent").mkdir()
    (served.worktree / ".dagent" / "feature.json").write_text(f'{{"id": "{project.feature}"}}')
    served.open()
    served.add("new")
    assert served.all() == ["new"] and "journal-altered" not in served.problems()
    assert len(served.store.catalogue.gone()) == 1


def _lose_to_an_older_backup(served: Served, backup: Path, newer: Path) -> None:
    """Messages `b` and `c`, which are nowhere else than in a newer one."""
    served.add("a")
    _back_up(served, backup)
    served.add("b", "c")
    _back_up(served, newer)
    served.session.clear()
    served.add("d")
    _unseal(served)
    _meanwhile(served, True, _journal, backup)


def test_a_newer_backup_over_it_brings_the_rest(served: Served, backup: Path, tmp_path: Path) -> None:
    _lose_to_an_older_backup(served, backup, tmp_path / "newer")
    assert served.all() == ["a", "d"] and _told(served, "journal-lost").message.endswith("no other file has: 2")
    _meanwhile(served, True, _journal, tmp_path / "newer")
    assert served.all() == ["a", "b", "c", "d"] and "journal-lost" not in served.problems()


def test_a_newer_backup_over_it_lost_its_name_to_one_with_a_line_less(
    served: Served, backup: Path, tmp_path: Path
) -> None:
    """`cp` of a backup, and `sed -i` of a line, before anybody looked: the file that was kept has it."""
    _lose_to_an_older_backup(served, backup, tmp_path / "newer")
    assert served.all() == ["a", "d"]
    _journal(served, tmp_path / "newer")
    lines = served.journal.read_bytes().splitlines(keepends=True)
    (tmp_path / "sed").write_bytes(b"".join(line for line in lines if b"text of b" not in line))
    os.replace(tmp_path / "sed", served.journal)
    served.flush()
    for _ in range(2):
        assert sorted(served.all()) == ["a", "b", "c", "d"] and "journal-lost" not in served.problems()
        served.again()


def test_cut_while_stopped_and_the_chat_with_it(served: Served) -> None:
    """A disk check that shortened files: no document says that there was more, but the index does."""
    served.add("a")
    length, chat = served.journal.stat().st_size, served.app.paths["chat"].read_bytes()
    served.app.push(said("theirs"))
    served.flush()
    served.close()
    os.truncate(served.journal, length)
    served.app.paths["chat"].write_bytes(chat)
    served.open()
    served.flush()
    assert served.all() == ["a", "theirs"] and _told(served)


def test_what_left_chat_a_while_ago_is_not_lost(served: Served, backup: Path) -> None:
    """It was sealed: a copy of that part of the journal is kept, which is no link."""
    served.add("a")
    _back_up(served, backup)
    served.add("b", "c")
    served.session.clear()
    served.session.tend(1e12)
    served.add("d")
    _meanwhile(served, True, _folder, backup)
    assert served.all() == ["a", "b", "c", "d"] and served.known() == ["d"]
    assert "journal-lost" not in served.problems()


def _departed(served: Served, backup: Path) -> None:
    """Of four messages, three have left chat: no document has those. The backup has the first."""
    served.add("a")
    _back_up(served, backup)
    served.add("b", "c")
    served.session.clear()
    served.session.tend(1e12)
    served.add("d")


def _empty(path: Path) -> None:
    os.truncate(path, 0)


def _cut(path: Path) -> None:
    os.truncate(path, 20)


def _fill(path: Path) -> None:
    """With zeros, as some file systems do after a power failure."""
    with path.open("r+b") as file:
        file.write(bytes(path.stat().st_size))


@pytest.mark.parametrize("destroy", [_empty, _cut, _fill])
@running
def test_a_journal_without_a_beginning_is_the_same_one(
    served: Served, backup: Path, destroy: Callable[[Path], None], running: bool
) -> None:
    """It was taken for another session's, because it does not begin as it did; nothing was said, and all was lost."""
    _departed(served, backup)
    _meanwhile(served, running, lambda *_: destroy(served.journal), backup)
    for _ in range(2):
        assert served.all() == ["a", "b", "c", "d"] and served.known() == served.shown() == ["d"]
        assert _ or _told(served)
        served.again()


@whole
def test_overwritten_when_no_index_knows_it(served: Served, backup: Path, overwrite: Overwrite, tmp_path: Path) -> None:
    """An update that begins the index anew, or a project that was moved: the sealed parts know."""
    _departed(served, backup)
    served.close()
    overwrite(served, backup)
    for path in tmp_path.glob("index.sqlite*"):
        path.unlink()
    served.open()
    served.flush()
    assert served.all() == ["a", "b", "c", "d"] and served.known() == served.shown() == ["d"]
    assert "put back: 3" in _told(served).message


@whole
def test_overwritten_and_stopped_before_anybody_looked(served: Served, backup: Path, overwrite: Overwrite) -> None:
    """The daemon knew it all, and its last act was to copy the overwritten journal over the sealed parts."""
    _departed(served, backup)
    overwrite(served, backup)
    for _ in range(2):
        served.again()
        assert served.all() == ["a", "b", "c", "d"] and served.known() == served.shown() == ["d"]


@pytest.mark.parametrize("part", [b"text of b", b'"t": "message"', b'"}}'], ids=["text", "head", "end"])
@pytest.mark.parametrize("before", ["reading", "stopping", "nothing"])
def test_one_record_overwritten_in_its_midst(served: Served, backup: Path, before: str, part: bytes) -> None:
    """Neither its length nor its end tells. The history could not be read from then on."""
    _departed(served, backup)
    data = served.journal.read_bytes()
    line = next(each for each in data.splitlines() if b"text of b" in each)
    with served.journal.open("r+b") as file:
        file.seek(data.index(line) + line.index(part))
        file.write(bytes(len(part)))
    if before == "stopping":
        served.again()
    elif before == "nothing":
        served.add("e")
    for _ in range(2):
        assert served.all() == ["a", "b", "c", "d", *(["e"] if before == "nothing" else [])]
        served.again()


def test_overwritten_while_stopped_in_its_midst(served: Served, backup: Path) -> None:
    _departed(served, backup)
    served.close()
    place = served.journal.read_bytes().index(b"text of b")
    with served.journal.open("r+b") as file:
        file.seek(place - 40)
        file.write(bytes(60))
    served.open()
    assert served.all() == ["a", "b", "c", "d"] and _told(served)


@pytest.mark.parametrize("cleared", [False, True], ids=["in chat", "cleared"])
def test_a_copy_that_goes_on_after_we_mended(served: Served, backup: Path, cleared: bool) -> None:
    """`cp` empties the file, and writes over what we append meanwhile: length and end are then as we know them."""
    early, late = [f"m{number}" for number in range(30)], [f"n{number}" for number in range(30)]
    served.add(*early)
    _back_up(served, backup)
    served.add(*late)
    if cleared:
        served.session.clear()
        served.session.tend(1e12)
    with served.journal.open("wb", buffering=0) as file:
        served.session.add([{"id": "x", "role": "user", "content": "x"}])
        file.write((backup / served.journal.name).read_bytes())
    served.session.add([{"id": "y", "role": "user", "content": "y"}])
    for _ in range(2):
        assert served.all() == [*early, *late, "x", "y"]
        served.again()


def test_sealed_parts_follow_the_journal(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_journals, "_PART", 1000)
    for count in range(12):
        served.add(f"m{count}")
        if count % 3 == 2:
            served.again()
    served.close()
    (entry,) = served.kept
    parts, size = kept_journals.sealed_parts(entry), served.journal.stat().st_size
    assert [part.start for part in parts] == [0, *(part.end for part in parts[:-1])] and parts[-1].end == size
    assert len(parts) <= size // 1000 + 1
    assert kept_journals.SealedCopy(entry).read(0, size) == served.journal.read_bytes()
    before = {part.path: part.path.stat().st_mtime_ns for part in parts}
    served.open()
    served.close()
    assert {part.path: part.path.stat().st_mtime_ns for part in kept_journals.sealed_parts(entry)} == before


def test_a_part_that_was_removed_is_made_again(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any of them, as scrubbing removed those with the text: what was in it was never copied again."""
    monkeypatch.setattr(kept_journals, "_PART", 1000)
    served.add(*(f"m{count}" for count in range(40)))
    served.close()
    for number in (0, 2):
        kept_journals.sealed_parts(served.kept[0])[number].path.unlink()
        served.open()
        served.add(f"after {number}")
        served.close()
        copied = kept_journals.SealedCopy(served.kept[0]).read(0, 1 << 30)
        assert len(kept_journals.sealed_parts(served.kept[0])) > 3 and copied == served.journal.read_bytes()


def test_a_part_that_makes_no_sense_is_made_again(served: Served) -> None:
    """As a power failure may leave one: they are not synced."""
    served.add("a")
    served.close()
    (part,) = kept_journals.sealed_parts(served.kept[0])
    part.path.write_bytes(b"")
    served.open()
    served.add("b")
    served.close()
    assert kept_journals.SealedCopy(served.kept[0]).read(0, 1 << 30) == served.journal.read_bytes()


def test_a_part_in_the_middle_makes_no_sense(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """What followed it could not be had from the copies either, and nobody noticed while the journal had it all."""
    monkeypatch.setattr(kept_journals, "_PART", 1000)
    monkeypatch.setattr(random, "sample", lambda parts, count: parts[1 : 1 + count])
    served.add(*(f"m{count}" for count in range(40)))
    served.close()
    parts = kept_journals.sealed_parts(served.kept[0])
    for damaged in (b"", b"\xff" * 300, zlib.compress(b"short")):
        parts[1].path.write_bytes(damaged)
        before = [part.path.stat().st_mtime_ns for part in parts[2:]]
        served.open()
        served.close()
        assert kept_journals.SealedCopy(served.kept[0]).read(0, 1 << 30) == served.journal.read_bytes()
        assert kept_journals.sealed_parts(served.kept[0]) == parts and len(parts) > 3
        assert [part.path.stat().st_mtime_ns for part in parts[2:]] == before


@pytest.mark.parametrize("asked", [False, True], ids=["", "asked for"])
def test_what_left_chat_is_sealed_although_nothing_follows(served: Served, asked: bool) -> None:
    """Within a second of the last save of the index it waited for the next message, however long that took; and so it
    did where the index was saved for somebody who asked for the history."""
    served.add("a", "b")
    served.session.clear()
    assert not asked or served.all() == ["a", "b"]
    until(lambda: kept_journals.SealedCopy(served.kept[0]).read(0, 1 << 30) == served.journal.read_bytes(), "sealing")
    os.truncate(served.journal, 0)
    served.flush()
    assert served.all() == ["a", "b"] and served.known() == []


@running
def test_overwritten_and_then_removed(served: Served, backup: Path, running: bool) -> None:
    """What is kept is the same file, and does not hold what the documents go up to; its sealed parts do."""
    _departed(served, backup)
    if not running:
        served.close()
    _journal(served, backup)
    served.journal.unlink()
    if not running:
        served.open()
    served.flush()
    assert served.all() == ["a", "b", "c", "d"] and served.known() == served.shown() == ["d"]
    assert len(served.kept) == 1


def _damage(messages: list[str], served: Served, _: Path) -> None:
    """Of each the last record that has it, as a failing disk would."""
    for one in messages:
        place = served.journal.read_bytes().rindex(f'"text of {one}"'.encode())
        with served.journal.open("r+b") as file:
            file.seek(place - 40)
            file.write(bytes(60))


@running
@pytest.mark.parametrize("again", [["b"], ["c"], ["b", "c"]], ids="+".join)
def test_what_was_put_back_is_damaged_a_second_time(served: Served, running: bool, again: list[str]) -> None:
    """What stood behind it said so by its id, and went to the end when that was not there."""
    served.add("a", "b", "c", "d", "e")
    served.session.clear()
    served.session.tend(1e12)
    served.add("f")
    for damaged in (["b", "c"], again, ["c"]):
        _meanwhile(served, running, partial(_damage, damaged), Path())
        for _ in range(2):
            assert served.all() == ["a", "b", "c", "d", "e", "f"] and served.known() == served.shown() == ["f"]
            served.again()


def _unseal(served: Served) -> None:
    for part in kept_journals.sealed_paths(served.kept[0]):
        part.unlink()


def _lost_two(served: Served, backup: Path) -> None:
    served.add("a")
    _back_up(served, backup)
    served.add("b", "c")
    _back_up(served, backup.with_name("newer"))
    served.session.clear()
    served.add("d")
    _unseal(served)
    _meanwhile(served, True, _journal, backup)


def test_what_is_lost_is_told_until_somebody_has_read_the_list(served: Served, backup: Path) -> None:
    """It was told until the next start, and `status` was well meanwhile."""
    _lost_two(served, backup)
    for _ in range(2):
        told = _told(served, "journal-lost")
        assert is_grave(told.id) and not is_over(told) and str(served.journal) in told.hint
        assert [json.loads(line)["id"] for line in Path(told.path).read_text().splitlines()] == ["b", "c"]
        served.again()
    Path(told.path).unlink()
    assert is_over(told)
    served.again()
    assert "journal-lost" not in served.problems()


def test_what_was_lost_and_came_back_is_listed_no_more(served: Served, backup: Path) -> None:
    _lost_two(served, backup)
    listed = Path(_told(served, "journal-lost").path)
    served.again()
    _meanwhile(served, True, _journal, backup.with_name("newer"))
    assert served.all() == ["a", "b", "c", "d"] and "journal-lost" not in served.problems() and not listed.exists()


@pytest.mark.parametrize("indexed", [True, False], ids=["", "no index"])
@pytest.mark.parametrize("cut", [False, True], ids=["", "cut"])
def test_overwritten_and_removed_where_the_sealed_parts_end_before_the_documents(
    served: Served, backup: Path, cut: bool, indexed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the kept file nor its parts have the position that the documents name: a journal was made anew from
    these, although the parts have what had left chat."""
    _departed(served, backup)
    monkeypatch.setattr(kept_journals, "seal", lambda *_, **__: None)  # whoever was killed did not
    if cut:
        os.truncate(served.journal, served.journal.stat().st_size // 2)
    served.close()
    _journal(served, backup)
    served.journal.unlink()
    for path in [] if indexed else tmp_path.glob("index.sqlite*"):
        path.unlink()
    served.open()
    served.flush()
    for _ in range(2):
        assert served.all() == ["a", "b", "c", "d"] and served.known() == served.shown() == ["d"]
        served.again()
    assert len(served.kept) == 1


def test_one_that_was_mended_from_nothing_is_known_again(served: Served, backup: Path) -> None:
    """It begins with no session record, and its documents may name a position of before: by chance they have the same
    length."""
    _departed(served, backup)
    for _ in range(2):
        _fill(served.journal)
        served.flush()
    served.close()
    (part,) = kept_journals.sealed_parts(served.kept[0])
    part.path.unlink()
    for name in ("chat", "checkpoint", "session"):
        document = served.app.read(name)
        served.app.paths[name].write_text(json.dumps({**document, "dagentd": {"pos": 99, "sum": "0" * 16}}))
    served.journal.unlink()
    served.open()
    served.flush()
    assert served.all() == ["a", "b", "c", "d"] and served.known() == served.shown() == ["d"]
    assert len(served.kept) == 1


def test_an_older_kept_journal_brings_nothing_back_into_chat(served: Served, backup: Path, tmp_path: Path) -> None:
    """A backup that took its name made it a second file; what has left chat since is in chat there."""
    served.add("a", "b")
    _back_up(served, backup)
    os.replace(shutil.copy2(backup / served.journal.name, tmp_path / "copy"), served.journal)
    served.flush()
    served.add("c")
    served.session.clear()
    served.session.tend(1e12)
    assert len(served.kept) == 2
    with served.journal.open("r+b") as file:
        file.seek(60)
        file.write(bytes(90))
    os.truncate(served.journal, served.journal.stat().st_size - 150)
    for _ in range(2):
        served.again()
        assert served.all() == ["a", "b", "c"] and served.known() == served.shown() == []


@pytest.mark.parametrize("record", ["session", "checkpoint", "left"])
@pytest.mark.parametrize("before", ["looking", "stopping", "no index"])
def test_a_record_that_is_no_message_is_damaged(served: Served, record: str, before: str, tmp_path: Path) -> None:
    """The journal was taken for whole, and could not be read at the next start, or said less from then on."""
    served.add("a", "b")
    served.session.update_checkpoint({"summary": {"decisions": ["kept"]}})
    served.session.clear()
    served.session.tend(1e12)
    place = served.journal.read_bytes().rindex(f'{{"t": "{record}"'.encode())
    with served.journal.open("r+b") as file:
        file.seek(place + 5)
        file.write(bytes(30))
    if before != "stopping":
        served.flush()
    served.close()
    for path in tmp_path.glob("index.sqlite*") if before == "no index" else ():
        path.unlink()
    for _ in range(2):
        served.open()
        served.flush()
        assert served.all() == ["a", "b"] and served.known() == served.shown() == []
        assert served.app.read("checkpoint")["summary"]["decisions"] == ["kept"]
        assert served.session.fields["agentType"] == "pm"
        served.close()


@pytest.mark.parametrize("destroy", [_empty, _fill])
def test_an_older_folder_takes_the_place_of_one_that_was_mended_from_nothing(
    served: Served, backup: Path, destroy: Callable[[Path], None]
) -> None:
    """It begins with another record, and was taken for another session's."""
    _back_up(served, backup)
    served.add("a", "b")
    destroy(served.journal)
    served.flush()
    served.close()
    for path in backup.iterdir():
        os.replace(path, served.folder.path / path.name)
    for _ in range(2):
        served.open()
        served.flush()
        assert served.all() == served.known() == served.shown() == ["a", "b"]
        served.close()


def test_what_was_mended_to_the_same_length_is_sealed_again(served: Served, backup: Path) -> None:
    _departed(served, backup)
    for _ in range(3):
        _fill(served.journal)
        served.again()
    served.close()
    assert kept_journals.SealedCopy(served.kept[0]).read(0, 1 << 30) == served.journal.read_bytes()


def _killed_early(served: Served, tmp_path: Path) -> None:
    """Of what came since the backup, only the journal knows: no index, no sealed part."""
    served.close()
    for path in (*tmp_path.glob("index.sqlite*"), *served.kept[0].parent.glob("*.z")):
        path.unlink()


@pytest.mark.parametrize("cleared", [False, True], ids=["in chat", "cleared"])
def test_a_backup_took_the_name_after_we_were_killed(
    served: Served, backup: Path, cleared: bool, tmp_path: Path
) -> None:
    """The kept file still has what no document tells of; the session went on without it."""
    served.add("a")
    _back_up(served, backup)
    served.add("b", "c")
    if cleared:
        served.session.clear()
    _killed_early(served, tmp_path)
    for path in backup.iterdir():
        os.replace(path, served.folder.path / path.name)
    served.open()
    assert "put back: 2" in _told(served).message
    served.add("d")
    for _ in range(2):
        assert served.all() == ["a", "b", "c", "d"]
        assert served.known() == served.shown() == (["d"] if cleared else ["a", "b", "c", "d"])
        served.again()


def test_one_that_took_the_name_was_cut_before_anybody_looked(served: Served, backup: Path, tmp_path: Path) -> None:
    """What it had been given of the kept file before it is still there."""
    served.add("a")
    _back_up(served, backup)
    length = served.journal.stat().st_size
    served.add("b", "c")
    os.replace(shutil.copy2(backup / served.journal.name, tmp_path / "copy"), served.journal)
    served.flush()
    _killed_early(served, tmp_path)
    os.truncate(served.journal, length)
    for path in backup.iterdir():
        if path.name != served.journal.name:
            _over(path, served.folder.path / path.name)
    served.open()
    for _ in range(2):
        assert served.all() == served.known() == ["a", "b", "c"]
        served.again()


def test_a_file_without_a_beginning_took_the_name_after_we_were_killed(
    served: Served, backup: Path, tmp_path: Path
) -> None:
    """It does not say whose it is; the session's document does."""
    _back_up(served, backup)
    served.add("a", "b")
    _killed_early(served, tmp_path)
    lines = served.journal.read_bytes().replace(b'"status"', b'"\xfftatus"', 1).splitlines(keepends=True)
    for path in backup.glob("*.json"):
        _over(path, served.folder.path / path.name)
    (tmp_path / "sed").write_bytes(b"".join(line for line in lines if b"text of b" not in line))
    os.replace(tmp_path / "sed", served.journal)
    served.open()
    for _ in range(2):
        assert served.all() == ["a", "b"]
        served.again()


def test_overwritten_while_it_is_opened(served: Served, backup: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its torn end is saved then; cut to where that began, the shorter file would have zeros there."""
    _back_up(served, backup)
    served.add("a", "b")
    served.session.clear()
    served.close()
    with served.journal.open("ab") as file:
        file.write(b'{"t": "message", ')
    once = [True]

    def step(what: str, path: Path | str) -> None:
        if ".torn." in str(path) and once:
            once.clear()
            _journal(served, backup)

    monkeypatch.setattr(disk, "step", step)
    served.open()
    served.add("c")
    for _ in range(2):
        assert not once and served.all() == ["a", "b", "c"] and b"\0" not in served.journal.read_bytes()
        served.again()


def test_another_file_that_is_no_later_moves_nothing(served: Served, backup: Path, tmp_path: Path) -> None:
    """What was cleared since would be in chat again."""
    served.add("a", "b")
    os.replace(shutil.copy2(served.journal, tmp_path / "copy"), served.journal)
    served.flush()
    served.add("c")
    served.session.clear()
    _killed_early(served, tmp_path)
    with served.journal.open("r+b") as file:
        file.seek(served.journal.read_bytes().index(b'"text of b"') - 40)
        file.write(bytes(60))
    served.open()
    assert served.all() == ["a", "b", "c"] and served.known() == []


def test_what_followed_the_last_save_of_the_index_stands(served: Served, tmp_path: Path) -> None:
    """Damaged in its midst while we were away: chat was as the index had it, before it was cleared."""
    served.add("a", "b")
    served.close()
    for path in tmp_path.glob("index.sqlite*"):
        shutil.copy2(path, tmp_path / f"earlier-{path.name}")
    served.open()
    served.session.clear()
    served.add("c")
    served.close()
    for path in tmp_path.glob("earlier-*"):
        os.replace(path, tmp_path / path.name.removeprefix("earlier-"))
    _damage(["b"], served, Path())
    served.open()
    for _ in range(2):
        assert served.all() == ["a", "b", "c"] and served.known() == served.shown() == ["c"]
        served.again()


@pytest.mark.parametrize("before", ["somebody adds", "the chat is written", "that is sealed"])
def test_what_left_chat_a_moment_ago(served: Served, backup: Path, before: str) -> None:
    """Only the chat on disk still had it: it was listed as lost, and then written over."""
    served.add("a")
    _back_up(served, backup)
    served.add("b", "c")
    with served.session._projections.still():
        served.session.clear()
        if before == "that is sealed":
            served.flush()
        _journal(served, backup)
        if before == "somebody adds":
            served.session.add([{"id": "d", "role": "user", "content": "text of d"}])
    served.flush()
    served.add("d")
    assert "journal-lost" not in served.problems()
    for _ in range(2):
        assert served.all() == ["a", "b", "c", "d"] and served.known() == served.shown() == ["d"]
        served.again()


def test_what_came_behind_a_damaged_end_of_the_index_stands(served: Served, tmp_path: Path) -> None:
    """A hole over the end of the last record that the index knows, and over what follows it at once."""
    served.add("a", "b")
    served.close()
    for path in tmp_path.glob("index.sqlite*"):
        shutil.copy2(path, tmp_path / f"earlier-{path.name}")
    end = served.journal.stat().st_size
    served.open()
    served.session.update_checkpoint({"summary": {"decisions": ["kept"]}})
    served.session.clear()
    served.add("c")
    served.close()
    for path in tmp_path.glob("earlier-*"):
        os.replace(path, tmp_path / path.name.removeprefix("earlier-"))
    with served.journal.open("r+b") as file:
        file.seek(end - 30)
        file.write(bytes(60))
    served.open()
    for _ in range(2):
        assert served.all() == ["a", "b", "c"] and served.known() == served.shown() == ["c"]
        served.again()


def test_a_longer_file_over_it_is_not_read_on_from_where_ours_ended(served: Served, backup: Path) -> None:
    """A size that only grew looks as if somebody had appended."""
    served.add("a", "b")
    _back_up(served, backup)
    served.add("c")
    with (backup / served.journal.name).open("ab") as file:
        file.write(b"x" * 10_000 + b"\n")
    _journal(served, backup)
    served.add("d")
    assert served.known() == served.all() == ["a", "b", "c", "d"]
    assert sorted(served.written()) == ["a", "b", "c", "d"]
