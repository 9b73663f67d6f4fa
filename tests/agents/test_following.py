"""What becomes of a transcript in our folder, whatever becomes of it in the agent's."""

from __future__ import annotations

import os
import shutil
import stat
import threading
import time
from pathlib import Path

import pytest
import zstandard

from dagentd.agents import following, records
from dagentd.agents.following import Parked
from dagentd.errors import DagentdError, NotAllowed
from dagentd.settings.tables import Agents
from tests.agents.desk import ID, TALK, Desk, grow, line, long_ago
from tests.conftest import git

OTHER = "22222222-2222-4333-8444-555555555555"
THIRD = "33333333-2222-4333-8444-555555555555"


@pytest.fixture
def begun(desk: Desk) -> Path:
    """A transcript of three lines that was taken in."""
    path = desk.path()
    path.write_bytes(line(desk.root, say="one") + line(say="two") + line(say="three"))
    assert desk.look() == 1
    return path


def test_every_byte_is_kept_for_its_user_alone(desk: Desk) -> None:
    data = line(desk.root) + b'\xff\xfe not json\n{"half": "\\ud800"}\n\n\0\n' + b"no last newline"
    desk.path().write_bytes(data)
    desk.look()
    assert desk.kept() == [data]
    place = desk.parts()[0].path
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700


def test_what_grew_is_appended(desk: Desk, begun: Path) -> None:
    for piece in (b'{"say": "half', b' a line"}\n', line(say="x" * 200_000), b"end"):
        grow(begun, piece)
        assert desk.look() == 1
        assert desk.kept() == [begun.read_bytes()]


def test_conversations_are_counted_once_the_kept_and_without_the_forgotten(desk: Desk) -> None:
    def counted() -> list[tuple[int, int]]:
        return [(each.count, each.kept) for each in desk.following.conversations_in(str(desk.root))]

    for folder, uuid in (("one", ID), ("two", ID), ("one", OTHER), ("one", THIRD)):
        grow(desk.path(folder, uuid), line(desk.root, say="hello"))
    assert counted() == [(3, 0)]
    desk.path("one", OTHER).rename(desk.home / "later")
    desk.look()
    records.forget(desk.state / "agents", TALK.name, THIRD)
    (desk.home / "later").rename(desk.path("one", OTHER))
    assert counted() == [(2, 1)]


@pytest.mark.parametrize("forgetful", [False, True])
def test_a_later_start_reads_only_what_has_changed(desk: Desk, begun: Path, forgetful: bool) -> None:
    desk.stop()
    desk.start(forgetful=forgetful)
    assert desk.look() == int(forgetful)
    assert desk.look() == 0
    grow(begun, line(say="four"))
    assert desk.look() == 1
    assert desk.kept() == [begun.read_bytes()]


def test_a_transcript_that_moves_goes_on_in_its_part(desk: Desk, begun: Path) -> None:
    moved = desk.path("another")
    begun.rename(moved)
    grow(moved, line(say="four"))
    desk.look()
    assert desk.kept() == [moved.read_bytes()]


def test_a_copy_elsewhere_goes_on_in_its_part(desk: Desk, begun: Path) -> None:
    moved = desk.path("another")
    moved.write_bytes(begun.read_bytes() + line(say="four"))
    begun.unlink()
    desk.look()
    assert desk.kept() == [moved.read_bytes()]


def test_a_deleted_one_stays(desk: Desk, begun: Path) -> None:
    data = begun.read_bytes()
    shutil.rmtree(begun.parent)
    desk.look()
    assert desk.kept() == [data]


def test_a_truncated_one_loses_nothing_and_begins_a_part_when_it_differs(desk: Desk, begun: Path) -> None:
    before = begun.read_bytes()
    os.truncate(begun, 40)
    desk.look()
    assert desk.kept() == [before]
    grow(begun, line(say="otherwise"))
    desk.look()
    assert desk.kept() == [before, begun.read_bytes()]
    grow(begun, line(say="and on"))
    desk.look()
    assert desk.kept() == [before, begun.read_bytes()]


def test_a_replaced_one_is_kept_beside_it(desk: Desk, begun: Path) -> None:
    before = begun.read_bytes()
    other = begun.with_suffix(".new")
    other.write_bytes(line(desk.root, say="rewritten") + line(say="x" * 100_000))
    other.rename(begun)
    desk.look()
    assert desk.kept() == [before, begun.read_bytes()]


def test_one_that_was_altered_in_its_midst_is_noticed(desk: Desk, begun: Path) -> None:
    before = begun.read_bytes()
    begun.write_bytes(before.replace(b"two", b"TWO"))
    desk.look()
    assert desk.kept() == [before, begun.read_bytes()]


def test_two_files_with_one_id_each_have_a_part(desk: Desk, begun: Path) -> None:
    other = desk.path("another")
    other.write_bytes(line(desk.root, say="not the same"))
    for _ in range(3):
        grow(begun, line(say="here"))
        grow(other, line(say="there"))
        desk.look()
    assert desk.kept() == [begun.read_bytes(), other.read_bytes()]


def test_a_compressed_one_goes_on_in_its_part(desk: Desk, begun: Path) -> None:
    more = begun.read_bytes() + line(say="four")
    begun.unlink()
    packed = desk.path(suffix=".jsonl.zst")
    packed.write_bytes(zstandard.compress(more[:50]) + zstandard.compress(more[50:]))
    desk.look()
    assert desk.kept() == [more]
    assert desk.look() == 0


def test_a_compressed_one_that_is_cut_is_told_and_holds_up_nothing(desk: Desk, begun: Path) -> None:
    packed = desk.path(uuid="cut", suffix=".jsonl.zst")
    packed.write_bytes(b"(\xb5/\xfd nonsense")
    (found,) = desk.following.survey().due
    with pytest.raises(DagentdError) as refused:
        desk.following.take(found)
    assert refused.value.path == str(packed) and "cannot be unpacked" in refused.value.message


def test_idle_ones_are_sealed_and_go_on_where_they_were(desk: Desk, begun: Path) -> None:
    part = desk.parts()[0]
    long_ago(part.path)
    desk.following.tidy()
    assert part.is_sealed and stat.S_IMODE(part.sealed_path.stat().st_mode) == 0o600
    assert zstandard.decompress(part.sealed_path.read_bytes()) == begun.read_bytes()
    assert desk.kept() == [begun.read_bytes()] and desk.look() == 0
    grow(begun, line(say="after a week"))
    desk.look()
    assert desk.kept() == [begun.read_bytes()]
    assert not part.is_sealed and not part.sealed_path.exists()


def test_a_moved_one_stays_sealed(desk: Desk, begun: Path) -> None:
    long_ago(desk.parts()[0].path)
    desk.following.tidy()
    begun.rename(desk.path("another"))
    desk.look()
    assert desk.parts()[0].is_sealed and len(desk.kept()) == 1


def test_large_ones_are_taken_in_piece_by_piece(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "_AT_ONCE", 1000)
    path = desk.path()
    path.write_bytes(line(desk.root) + line(say="y" * 10_000))
    desk.look()
    assert desk.kept() == [path.read_bytes()]
    assert desk.look() == 0


def test_subagents_and_results_in_files_are_their_conversations(desk: Desk, begun: Path) -> None:
    folder = begun.with_suffix("")
    (folder / "subagents").mkdir(parents=True)
    (folder / "tool-results").mkdir()
    (folder / "subagents/agent-a1.jsonl").write_bytes(line(say="aside"))
    (folder / "subagents/agent-7.jsonl").write_bytes(line(say="a number"))
    (folder / "tool-results/small").write_bytes(b"result")
    (folder / "tool-results/large").write_bytes(b"r" * (Agents().max_attachment + 1))
    desk.look()
    assert desk.kept(f"{ID}.a1") == [line(say="aside")] and desk.kept(f"{ID}.agent-7") == [line(say="a number")]
    kept = desk.following.keep(TALK).files_folder(ID)
    assert [path.name for path in (kept / "tool-results").iterdir()] == ["small"]
    assert desk.look() == 0
    (folder / "tool-results/small").write_bytes(b"another")
    desk.look()
    assert sorted(path.read_bytes() for path in (kept / "tool-results").iterdir()) == [b"another", b"result"]


def test_conversations_of_other_folders_are_left_alone_until_they_are_ours(desk: Desk, tmp_path: Path) -> None:
    desk.registered = False
    desk.path().write_bytes(line(desk.root, say="hello"))
    desk.path(uuid="nowhere").write_bytes(line(say="no folder"))
    desk.path(uuid="relative").write_bytes(line("../../etc", say="a strange one"))
    desk.path(uuid="nul").write_bytes(line(f"{desk.root}\0", say="a strange one"))
    assert desk.look() == 4
    assert not list((desk.state / "agents").rglob("*.jsonl*"))
    survey = desk.following.survey()
    assert (len(survey.due), survey.elsewhere) == (0, 4)
    desk.registered = True
    assert desk.look() == 1
    assert desk.kept() == [desk.path().read_bytes()]


def test_what_belongs_to_a_conversation_is_its_projects_and_read_once(desk: Desk, tmp_path: Path) -> None:
    desk.path().write_bytes(line(tmp_path / "elsewhere", say="hello"))
    beside = desk.path().with_suffix("")
    for name in ("subagents/agent-a1.jsonl", "tool-results/r"):
        (beside / name).parent.mkdir(parents=True)
        (beside / name).write_bytes(line(desk.root, say="within the project"))
    assert desk.look() == 3
    assert not list((desk.state / "agents").rglob("*.jsonl*"))
    survey = desk.following.survey()
    assert (len(survey.due), survey.elsewhere) == (0, 2)
    desk.set(scope="all")
    assert desk.look() == 3
    assert desk.kept(f"{ID}.a1") and [path.name for path in (desk.state / "agents").rglob("r")] == ["r"]


def test_folders_can_be_left_out_and_all_taken(desk: Desk, tmp_path: Path) -> None:
    desk.set(scope="all", ignore_paths=(str(desk.root / "secret"),))
    desk.path().write_bytes(line(tmp_path / "anywhere"))
    desk.path(uuid="hidden").write_bytes(line(desk.root / "secret" / "deep"))
    desk.look()
    owner = desk.following.owner(TALK, ID)
    assert owner is not None and (owner.project, owner.worktree) == (None, str(tmp_path / "anywhere"))
    assert desk.kept("hidden") == []
    desk.set(follow=())
    grow(desk.path(), line(say="more"))
    assert desk.look() == 0


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make files of others")
def test_links_and_files_of_others_are_refused_in_a_sentence(desk: Desk, begun: Path, tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(line(desk.root))
    desk.path(uuid="link").symlink_to(tmp_path / "target")
    (begun.parent.parent / "linked").symlink_to(begun.parent)
    os.mkfifo(desk.path(uuid="pipe"))
    other = desk.path(uuid="other")
    other.write_bytes(line(desk.root))
    os.chown(other, 12345, 12345)
    survey = desk.following.survey()
    assert survey.due == []
    assert sorted((each.path.name, each.reason) for each in survey.refused) == [
        ("link.jsonl", "is a symbolic link, and not followed"),
        ("linked", "is a symbolic link, and not followed"),
        ("other.jsonl", "belongs to another user, and is not read"),
        ("pipe.jsonl", "is not a regular file"),
    ]


@pytest.mark.parametrize("what", ["transcript", "attachment"])
def test_a_folder_that_became_a_link_since_it_was_found_is_not_followed(
    desk: Desk, begun: Path, tmp_path: Path, what: str
) -> None:
    """Whoever can write there may not read what it would lead to, and could read what we keep of it."""
    seen = begun.with_suffix("") / "tool-results" / "a.txt" if what == "attachment" else desk.path(uuid=OTHER)
    seen.parent.mkdir(parents=True, exist_ok=True)
    seen.write_bytes(line(desk.root))
    [found] = desk.following.survey().due
    before = desk.kept()
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / seen.name).write_bytes(line(desk.root, say="only the victim's"))
    seen.parent.rename(tmp_path / "aside")
    seen.parent.symlink_to(theirs)
    with pytest.raises(NotAllowed):
        desk.following.take(found)
    assert desk.kept() == before and desk.parts(OTHER) == []
    assert not list(desk.state.rglob(seen.name))


def test_intake_parks_where_there_is_no_room(desk: Desk, begun: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = desk.kept()
    desk.set(max_bytes=200)
    grow(begun, line(say="z" * 1000))
    with pytest.raises(Parked, match="max_bytes"):
        desk.look()
    desk.set(max_bytes=10**9)
    monkeypatch.setattr(following, "_FREE", 1 << 60)
    with pytest.raises(Parked, match="less than 1 GB"):
        desk.look()
    assert desk.kept() == before
    monkeypatch.undo()
    desk.look()
    assert desk.kept() == [begun.read_bytes()]


def test_a_worktree_and_its_repository_may_go(desk: Desk, tmp_path: Path) -> None:
    worktree = tmp_path / "sibling"
    git(desk.root, "worktree", "add", "-q", str(worktree))
    desk.path().write_bytes(line(worktree / "src"))
    (worktree / "src").mkdir()
    desk.look()
    git(desk.root, "worktree", "remove", "--force", str(worktree))
    desk.path(uuid="later").write_bytes(line(worktree / "src", say="seen only afterwards"))
    desk.look()
    shutil.rmtree(desk.root)
    desk.stop()
    desk.start(forgetful=True)
    desk.look()
    for key in (ID, "later"):
        owner = desk.following.owner(TALK, key)
        assert owner is not None and (owner.root, owner.worktree) == (str(desk.root), str(worktree))


def test_who_waits_to_write_has_the_next_turn(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also beside who has the lock again as soon as it was let go of, as a first intake."""
    monkeypatch.setattr(following, "_PATIENCE", 60.0)
    held, done = threading.Semaphore(0), threading.Event()

    def write_on() -> None:
        while not done.is_set():
            with desk.following.writing(TALK):
                held.release()
                time.sleep(0.03)

    others = threading.Thread(target=write_on)
    others.start()
    held.acquire()
    with desk.following.writing(TALK):
        done.set()
    others.join()
    assert len([None for _ in range(100) if held.acquire(blocking=False)]) < 50, "it waited for too many turns"
