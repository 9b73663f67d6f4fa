"""The files of a feature: listed, with the text of small ones, and nothing from outside."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dagentd.jobs.context.feature_parts import read_attachments
from dagentd.model.project import FeatureFolder, Tree


@pytest.fixture
def feature(tmp_path: Path) -> FeatureFolder:
    worktree = tmp_path / "worktree"
    path = worktree / ".dagent"
    (path / "attachments").mkdir(parents=True)
    return FeatureFolder("login", path, Tree(path, worktree), "flat")


def put(feature: FeatureFolder, name: str, data: bytes) -> None:
    (feature.path / "attachments" / name).write_bytes(data)


def test_without_any(feature: FeatureFolder) -> None:
    (feature.path / "attachments").rmdir()
    found = read_attachments(feature, None, 100)
    assert (found.entries, found.notes) == ([], [])


def test_the_text_of_small_ones_as_long_as_there_is_room(feature: FeatureFolder) -> None:
    put(feature, "a.txt", b"\xef\xbb\xbfone\r\n")
    put(feature, "b.png", b"\x89PNG\0\0")
    put(feature, "c.txt", b"x" * 95)
    put(feature, "d.txt", b"two")
    put(feature, "e.txt", b"caf\xe9")
    put(feature, "f.txt", b"")
    put(feature, ".hidden", b"x")
    assert read_attachments(feature, [], 100).entries == [
        {"name": "a.txt", "size": 8, "content": "one\n"},
        {"name": "b.png", "size": 6},
        {"name": "c.txt", "size": 95},
        {"name": "d.txt", "size": 3, "content": "two"},
        {"name": "e.txt", "size": 4},
        {"name": "f.txt", "size": 0},
    ]


def test_those_that_the_feature_lists_come_first_wherever_they_are(feature: FeatureFolder) -> None:
    put(feature, "a.txt", b"a")
    put(feature, "z.txt", b"z")
    (feature.tree.worktree / "logo.svg").write_text("<svg/>")
    listed = ["attachments/z.txt", {"path": ".dagent/attachments/a.txt"}, {"name": "logo.svg"}, "gone.txt", "z.txt"]
    found = read_attachments(feature, listed, 100)
    assert [entry["name"] for entry in found.entries] == ["z.txt", "a.txt", "logo.svg"]
    assert found.notes == ["Attachment gone.txt: is not there."]


@pytest.mark.parametrize("listed", [7, "text", {"a": 1}, [None, 3, [], {}, "", " ", "a\0b", "\ud800", {"path": 5}]])
def test_lists_of_garbage_name_nothing(feature: FeatureFolder, listed: object) -> None:
    found = read_attachments(feature, listed, 100)
    assert (found.entries, found.notes) == ([], [])


def test_nothing_from_outside(feature: FeatureFolder) -> None:
    (feature.path / "attachments" / "passwd").symlink_to("/etc/passwd")
    (feature.path / "attachments" / "ok").symlink_to("/nowhere/at/all")
    found = read_attachments(feature, ["/etc/hosts", "../../../../../../etc/group", "x" * 5000], 10_000)
    assert found.entries == []
    assert len(found.notes) == 5
    assert [note.endswith("leads out of its worktree.") for note in found.notes] == [True, True, False, True, True]


def test_what_is_no_file_is_not_listed(feature: FeatureFolder) -> None:
    (feature.path / "attachments" / "folder").mkdir()
    os.mkfifo(feature.path / "attachments" / "pipe")
    found = read_attachments(feature, [], 10)
    assert found.entries == []
    assert found.notes == [f"Attachment {name}: is not a regular file." for name in ("folder", "pipe")]


def test_a_folder_full_of_them(feature: FeatureFolder) -> None:
    for number in range(150):
        put(feature, f"{number}.txt", b"x")
    found = read_attachments(feature, [], 10_000)
    assert len(found.entries) == 100
    assert found.notes == ["Of 150 attachments only 100 are listed."]
