"""The structure is bounded and fair to every folder; subjects are one harmless line as git shows them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from dagentd.adapters.git import repository
from dagentd.adapters.git.objects import GitReader
from dagentd.adapters.git.repository import Listing
from tests.adapters.git import repositories
from tests.adapters.git.repositories import commit, raw, write
from tests.adapters.git.test_kinds import by_git, by_libgit
from tests.conftest import git


def structure(worktree: Path, *, depth: int = 3, entries: int = 100) -> Listing:
    return repository.snapshot(worktree, commits=1, depth=depth, entries=entries).listing


def first_subject(worktree: Path) -> str:
    shown = by_git(worktree).commits[0].subject
    assert by_libgit(worktree).commits[0].subject == shown
    return shown


def test_down_to_the_depth(tmp_path: Path) -> None:
    root = repositories.plain(tmp_path)
    top = (".gitignore", "README.md", "new.txt", "notes/", "src-old/", "src/")
    assert structure(root, depth=1) == Listing(top, 0)
    assert structure(root, depth=2) == Listing((*top[:5], "src-old/x", "src/", "src/app/", "src/lib.py"), 0)
    deeper = ("src/app/", "src/app/deep/", "src/app/main.py", "src/lib.py")
    assert structure(root, depth=3) == Listing((*top[:5], "src-old/x", "src/", *deeper), 0)
    assert structure(root, depth=0) == Listing((), 0)


def test_a_large_folder_does_not_hide_the_others(repo: Path) -> None:
    for number in range(50):
        write(repo, f"assets/{number:02}.png", "")
    for name in ("src/a.py", "src/b.py", "src/sub/c.py"):
        write(repo, name, "")
    commit(repo, "Add much")
    found = structure(repo, entries=9)
    pictures = tuple(f"assets/{number:02}.png" for number in range(3))
    assert found.folders_and_files == ("README.md", "assets/", *pictures, "src/", "src/a.py", "src/b.py", "src/sub/")
    assert found.left_out == 47 + 1


def test_tracked_files_come_before_new_ones(repo: Path) -> None:
    for name in ("A.txt", "B.txt"):
        write(repo, name, "")
    assert structure(repo, entries=2) == Listing(("A.txt", "README.md"), 1)
    assert structure(repo, entries=1) == Listing(("README.md",), 2)
    assert structure(repo, entries=0) == Listing((), 3)


def test_what_is_not_listed_is_not_read(repo: Path) -> None:
    """100 000 files in 400 folders: the folders that do not fit are not looked into."""
    lines = (f"M 100644 inline f{n // 250:03}/{n % 250}\ndata 0\n\n" for n in range(100_000))
    who = "committer T <t@example.org> 1700000000 +0000\n"
    stream = f"commit refs/heads/big\n{who}data 3\nbig\n{''.join(lines)}\n"
    raw(repo, "fast-import", "--quiet", told=stream.encode())
    git(repo, "symbolic-ref", "HEAD", "refs/heads/big")
    os.unlink(repo / "README.md")
    counting = Counting(repo)
    found = repository.Reading(counting, repo, repository.head(repo)).snapshot(1, 3, 20).listing
    assert found == Listing(tuple(f"f{n:03}/" for n in range(20)), 380 + 20 * 250)
    assert counting.read_ids <= 1 + 1 + 1 + 20


class Counting(GitReader):
    read_ids = 0

    def read(self, ids: Sequence[str]) -> list[bytes | None]:
        self.read_ids += len(ids)
        return super().read(ids)


def test_a_worktree_full_of_new_files(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """git is asked about so many; the others are counted and not listed, ignored or not."""
    monkeypatch.setattr(repository, "_ASKED", 10)
    write(repo, ".gitignore", "*.log\n")
    commit(repo, "Ignore logs")
    for number in range(30):
        write(repo, f"{number:02}.{'log' if number % 2 else 'txt'}", "")
    new = tuple(f"{number:02}.txt" for number in range(0, 10, 2))
    assert structure(repo) == Listing((*sorted((".gitignore", *new)), "README.md"), 20)


def test_folders_that_are_ignored_are_not_looked_into(repo: Path) -> None:
    write(repo, ".gitignore", "node_modules/\n")
    write(repo, "node_modules/deep/package.json", "{}")
    os.chmod(repo / "node_modules", 0)
    try:
        assert structure(repo) == Listing((".gitignore", "README.md"), 0)
    finally:
        os.chmod(repo / "node_modules", 0o755)


def test_what_is_ignored_and_staged_by_force(repo: Path) -> None:
    """Not listed before it is committed: to know it one would need the index, which libgit2 cannot always read."""
    write(repo, ".gitignore", "*.log\n")
    write(repo, "kept.log", "")
    git(repo, "add", "-f", "kept.log")
    assert by_libgit(repo).listing == by_git(repo).listing == Listing((".gitignore", "README.md"), 0)
    git(repo, "commit", "-q", "-m", "Keep it")
    assert structure(repo) == Listing((".gitignore", "README.md", "kept.log"), 0)


def test_what_the_user_ignores_everywhere(home: Path, repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """libgit2 looks for the home once, when it is loaded: a test has to tell it about its own."""
    import pygit2
    from pygit2.enums import ConfigLevel

    before = pygit2.settings.search_path[ConfigLevel.GLOBAL]
    pygit2.settings.search_path[ConfigLevel.GLOBAL] = str(home)
    try:
        git(home, "config", "--global", "core.excludesFile", str(home / "everywhere"))
        write(home, "everywhere", "*.swp\n")
        (repo / ".git" / "info" / "exclude").write_text("here.txt\n")
        for name in ("a.swp", "here.txt", "seen.txt"):
            write(repo, name, "")
        assert by_libgit(repo).listing == by_git(repo).listing == Listing(("README.md", "seen.txt"), 0)
    finally:
        pygit2.settings.search_path[ConfigLevel.GLOBAL] = before


def test_names_are_one_harmless_line(repo: Path) -> None:
    for name in ("two\nlines", "\x1b[31mred", "caf\udce9", "‮turned", "plain ü"):
        write(repo, name, "")
    found = structure(repo).folders_and_files
    assert set(found) == {"README.md", "two\\nlines", "\\x1b[31mred", "caf\\xe9", "\\u202eturned", "plain ü"}


@pytest.mark.parametrize(
    "message",
    [
        "One line",
        "Two\nlines of it\n\nand more",
        "\n\n  Indented and late  \n",
        "Trailing \t\nspace\n \nbody",
        "",
        "日本語 ü",
    ],
)
def test_subjects_are_those_of_git(repo: Path, message: str) -> None:
    git(repo, "commit", "-q", "--allow-empty", "--allow-empty-message", "--cleanup=verbatim", "-m", message)
    assert first_subject(repo) == raw(repo, "log", "-1", "--format=%s").decode().removesuffix("\n")


@pytest.mark.parametrize("encoding", ["ISO-8859-1", "UTF-16LE", "KOI8-R"])
def test_subjects_in_another_encoding(repo: Path, encoding: str) -> None:
    text = "привет" if encoding == "KOI8-R" else "Grüße"
    _commit_bytes(repo, text.encode(encoding), encoding)
    assert first_subject(repo) == text


@pytest.mark.parametrize("encoding", ["", "no-such-encoding", "rot13"])
def test_subjects_that_are_no_text(repo: Path, encoding: str) -> None:
    _commit_bytes(repo, b"Gr\xfc\xdfe \x1b[31m\x07", encoding)
    assert first_subject(repo) == "Gr\ufffd\ufffde \\x1b[31m\\x07"


def test_a_subject_without_end(repo: Path) -> None:
    _commit_bytes(repo, b"word " * 100_000, "")
    shown = first_subject(repo)
    assert len(shown) == repository.SUBJECT
    assert shown.endswith("…")


def _commit_bytes(repo: Path, message: bytes, encoding: str) -> None:
    who = b"T <t@example.org> 1700000000 +0000\n"
    tree = git(repo, "rev-parse", "HEAD^{tree}").encode()
    header = b"tree " + tree + b"\nauthor " + who + b"committer " + who
    named = b"encoding " + encoding.encode() + b"\n" if encoding else b""
    id = raw(repo, "hash-object", "-t", "commit", "-w", "--stdin", told=header + named + b"\n" + message)
    git(repo, "update-ref", "refs/heads/main", id.decode().strip())
