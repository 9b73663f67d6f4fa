"""CLAUDE.md and its imports on a real disk: which files are read, and which are refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dagentd.adapters.files import fileio
from dagentd.jobs.context.instructions import LIMIT, Text, plain, rules

SECRET = "TOP SECRET"


@pytest.fixture
def worktree(tmp_path: Path) -> Path:
    """A worktree beside a folder that is nobody's business."""
    folder = tmp_path / "worktree"
    folder.mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.md").write_text(SECRET)
    return folder


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def claude(worktree: Path) -> Text:
    return rules(worktree)[0]


# --- which file counts -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "said", "agents"),
    [
        (["CLAUDE.md", ".claude/CLAUDE.md", "AGENTS.md"], "CLAUDE.md", ""),
        ([".claude/CLAUDE.md", "AGENTS.md"], ".claude/CLAUDE.md", ""),
        (["AGENTS.md"], "", "AGENTS.md"),
        (["CLAUDE.local.md", "AGENTS.md"], "CLAUDE.local.md", "AGENTS.md"),
        (["CLAUDE.md", "CLAUDE.local.md"], "CLAUDE.md\n\nContents of CLAUDE.local.md:\n\nCLAUDE.local.md", ""),
        ([], "", ""),
    ],
)
def test_which_files_are_the_rules(worktree: Path, names: list[str], said: str, agents: str) -> None:
    for name in names:
        write(worktree / name, name)
    found = rules(worktree)
    assert [each.text for each in found] == [said, agents]
    assert [each.notes for each in found] == [(), ()]


def test_a_link_inside_the_worktree_is_followed(worktree: Path) -> None:
    write(worktree / "AGENTS.md", "Rules")
    (worktree / "CLAUDE.md").symlink_to("AGENTS.md")
    assert [each.text for each in rules(worktree)] == ["Rules", ""]


@pytest.mark.parametrize("name", ["CLAUDE.md", "AGENTS.md", "CLAUDE.local.md"])
@pytest.mark.parametrize("way", ["file", "folder"])
def test_a_link_out_of_the_worktree_is_refused(worktree: Path, name: str, way: str) -> None:
    """As a link to ~/.ssh where CLAUDE.md should be."""
    (worktree / name).symlink_to(worktree.parent / "outside" / ("secret.md" if way == "file" else ""))
    said, agents = rules(worktree)
    assert SECRET not in said.text + agents.text
    assert said.notes + agents.notes == (f"{name}: leads out of its worktree.",)


def test_where_claude_md_is_refused_agents_md_counts(worktree: Path) -> None:
    (worktree / "CLAUDE.md").symlink_to(worktree.parent / "outside" / "secret.md")
    write(worktree / "AGENTS.md", "Rules")
    assert [each.text for each in rules(worktree)] == ["", "Rules"]


def test_what_is_no_file_is_refused(worktree: Path) -> None:
    os.mkfifo(worktree / "CLAUDE.md")
    (worktree / "CLAUDE.local.md").mkdir()
    assert claude(worktree).notes == (
        "CLAUDE.md: is not a regular file.",
        "CLAUDE.local.md: is not a regular file.",
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_noted(worktree: Path) -> None:
    write(worktree / "CLAUDE.md", "x").chmod(0)
    assert claude(worktree).notes == ("CLAUDE.md: permission denied.",)


@pytest.mark.parametrize(
    ("data", "text", "note"),
    [
        (b"\xef\xbb\xbfRules\r\nMore\r\n", "Rules\nMore", ""),
        (b"caf\xe9", "caf\ufffd", ""),
        (b"R\0u\0l\0e\0s\0", "", "CLAUDE.md: is no text: it has NUL bytes."),
        (b"", "", ""),
        (b"x" * (LIMIT + 1), "", "CLAUDE.md: is 4 MiB; a document of its kind has at most 4 MiB."),
        (b"<!-- note to self -->\nRules\n", "Rules", ""),
    ],
)
def test_texts_of_every_sort(worktree: Path, data: bytes, text: str, note: str) -> None:
    (worktree / "CLAUDE.md").write_bytes(data)
    assert (claude(worktree).text, claude(worktree).notes) == (text, (note,) if note else ())


def test_a_hundred_megabytes_are_not_read(worktree: Path) -> None:
    with (worktree / "CLAUDE.md").open("wb") as file:
        file.truncate(100 << 20)
    assert claude(worktree).notes == ("CLAUDE.md: is 100 MiB; a document of its kind has at most 4 MiB.",)


# --- imports ---------------------------------------------------------------------------------------------------------


def test_imports_come_behind_the_file_that_names_them(worktree: Path) -> None:
    write(worktree / "CLAUDE.md", "See @docs/a.md, and @docs/b.md.\n")
    write(worktree / "docs" / "a.md", "A: @c.md\n")
    write(worktree / "docs" / "b.md", "B\n")
    write(worktree / "docs" / "c.md", "C: @../CLAUDE.md @a.md\n")
    assert claude(worktree).text == (
        "See @docs/a.md, and @docs/b.md.\n\n"
        "Contents of docs/a.md:\n\nA: @c.md\n\n"
        "Contents of docs/c.md:\n\nC: @../CLAUDE.md @a.md\n\n"
        "Contents of docs/b.md:\n\nB"
    )


def test_four_hops_and_no_more(worktree: Path) -> None:
    write(worktree / "CLAUDE.md", "@1.md")
    for number in range(1, 7):
        write(worktree / f"{number}.md", f"hop {number} @{number + 1}.md")
    found = claude(worktree)
    assert "hop 4" in found.text and "hop 5" not in found.text
    assert found.notes == ("5.md (imported by 4.md): is left out, being more than 4 imports away.",)


def test_absolute_paths_count_inside_only(worktree: Path) -> None:
    inside = write(worktree / "rules.md", "Inside")
    outside = worktree.parent / "outside" / "secret.md"
    write(worktree / "CLAUDE.md", f"@{inside} @{outside} @../outside/secret.md @~/.gitconfig @~/nothing @~root/x")
    found = claude(worktree)
    assert "Inside" in found.text and SECRET not in found.text and "[user]" not in found.text
    assert [note.partition(" (")[0] for note in found.notes] == [
        str(outside), "../outside/secret.md", str(Path.home() / ".gitconfig"),
    ]  # fmt: skip
    assert all("leads out of its worktree" in note for note in found.notes)
    assert found.sources <= {*worktree.iterdir(), worktree / ".claude" / "CLAUDE.md", worktree / "CLAUDE.local.md"}


def test_links_and_gits_own_folder_are_no_way_out(worktree: Path) -> None:
    (worktree / "way").symlink_to(worktree.parent / "outside")
    write(worktree / ".git" / "config", f"[remote]\nurl = https://{SECRET}@example.org")
    write(worktree / "docs" / ".GIT" / "config", SECRET)  # where names are the same in any case it is git's too
    write(worktree / "CLAUDE.md", "@way/secret.md @.git/config @docs/.GIT/config")
    found = claude(worktree)
    assert SECRET not in found.text
    told = ["leads out of its worktree.", "is in git's own folder.", "is in git's own folder."]
    assert [note.split(": ")[1] for note in found.notes] == told


@pytest.mark.parametrize("target", ["outside", "worktree/.git"])
def test_a_folder_that_is_exchanged_while_we_look_leads_nowhere(
    worktree: Path, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After it was seen where the import leads, and before it is opened."""
    write(worktree / "docs" / "secret.md", "Rules")
    write(worktree / ".git" / "secret.md", SECRET)
    write(worktree / "CLAUDE.md", "@docs/secret.md")
    real = fileio.read

    def read(path: Path, *more: Any) -> bytes:
        if path.name == "secret.md":
            (worktree / "docs").rename(worktree / "moved")
            (worktree / "docs").symlink_to(worktree.parent / target)
        return real(path, *more)

    monkeypatch.setattr(fileio, "read", read)
    found = claude(worktree)
    assert SECRET not in found.text
    assert [note.split(": ")[-1] for note in found.notes] == ["is a symbolic link."]


def test_only_what_is_there_is_an_import_and_a_missing_md_is_a_mistake(worktree: Path) -> None:
    (worktree / "folder").mkdir()
    names = f"@Injectable @ann @types/node @/components @folder @folder/missing.md @{'x' * 300}/x @x"
    write(worktree / "CLAUDE.md", names)
    found = claude(worktree)
    assert found.notes == ("folder/missing.md (imported by CLAUDE.md): is not there.",)
    assert worktree / "folder" / "missing.md" in found.sources


def test_imports_are_bounded(worktree: Path) -> None:
    for number in range(120):
        write(worktree / f"{number}.txt", f"file {number}.")
    write(worktree / "CLAUDE.md", " ".join(f"@{number}.txt" for number in range(3000)))
    found = claude(worktree)
    assert found.text.count("Contents of ") == 99
    assert sum("all imports together" in note for note in found.notes) == 21
    assert "Of 3000 words with @ only the first 1000 were looked for." in found.notes


def test_imports_together_are_no_longer_than_one_file_may_be(worktree: Path) -> None:
    for name in ("a.md", "b.md", "c.md"):
        write(worktree / name, "x" * (LIMIT // 2 - 100))
    write(worktree / "CLAUDE.md", "@a.md @b.md @c.md")
    found = claude(worktree)
    assert len(found.text) <= LIMIT
    assert found.notes == ("c.md (imported by CLAUDE.md): is left out: all imports together are too much.",)


NAMES = ["CLAUDE.md", "a.md", "docs/b.md", "way/secret.md", "loop", "../outside/secret.md", "docs/..", "~/.gitconfig"]
WORDS = st.sampled_from([*NAMES, "/etc/passwd", "docs", ".", "..", "/", "~", "a.md#x"])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look everywhere")
def test_a_folder_that_is_closed_to_us_has_nothing(worktree: Path) -> None:
    write(worktree / "closed" / "a.md", "x")
    (worktree / "closed").chmod(0)
    write(worktree / "CLAUDE.md", "Rules @closed/a.md")
    assert claude(worktree).text == "Rules @closed/a.md"
    assert claude(worktree).notes == ("closed/a.md (imported by CLAUDE.md): is not there.",)
    (worktree / "closed").chmod(0o700)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.tuples(st.sampled_from(NAMES[:3]), st.lists(WORDS | st.text(max_size=20)))))
def test_nothing_leads_out_of_the_worktree(worktree: Path, files: list[tuple[str, list[str]]]) -> None:
    for link, target in (("way", "../outside"), ("loop", "loop")):
        if not (worktree / link).is_symlink():
            (worktree / link).symlink_to(target)
    for name, words in files:
        (worktree / name).parent.mkdir(exist_ok=True)
        (worktree / name).write_bytes(" ".join(f"@{word}" for word in words).encode("utf-8", "replace"))
    for found in rules(worktree):
        assert SECRET not in found.text and "[user]" not in found.text and "root:" not in found.text
        assert all(Path(os.path.realpath(each.parent)).is_relative_to(worktree) for each in found.sources)


# --- other texts -----------------------------------------------------------------------------------------------------


def test_a_plain_text(worktree: Path) -> None:
    assert plain(worktree / "PROJECT.md", worktree).text == ""
    write(worktree / "PROJECT.md", "\n  A shop. @docs/a.md <!-- x -->\n\n")
    assert plain(worktree / "PROJECT.md", worktree).text == "  A shop. @docs/a.md <!-- x -->"
    (worktree / "PROJECT.md").unlink()
    (worktree / "PROJECT.md").symlink_to("/etc/passwd")
    assert plain(worktree / "PROJECT.md", worktree).notes == ("PROJECT.md: leads out of its worktree.",)
