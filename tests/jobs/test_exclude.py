"""Lines in `info/exclude`: added once, taken away byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from dagentd.jobs import exclude
from dagentd.jobs.exclude import PATTERNS, added_to, removed_from
from dagentd.model.project import Project

TEXTS = [
    None,
    "",
    "\n",
    "# git ls-files --others\n*.o\n",
    "no final newline",
    "two lines\nno final newline",
    "crlf\r\n",
    "crlf\r\nno end\r",
    ".dagent/\n",
    "*.o\n.agx/\n.dagent/",
    "".join(f"{pattern}\n" for pattern in PATTERNS),
    "not utf-8: \udcff\udcfe",
    "form feed \x0c and \u2028 are no line ends",
]


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_added_can_be_taken_away_byte_for_byte(text: str | None) -> None:
    added, missing = added_to(text)
    held = set() if text is None else {line.rstrip("\r") for line in text.split("\n")}
    assert missing == [pattern for pattern in PATTERNS if pattern not in held]
    assert set(PATTERNS) <= {line.rstrip("\r") for line in added.split("\n")}
    assert added_to(added) == (added, [])
    assert removed_from(added) == text if missing else added == text


@pytest.mark.parametrize("text", [text for text in TEXTS if text is not None])
def test_what_others_added_behind_it_stays(text: str) -> None:
    added, missing = added_to(text)
    if not missing:
        return
    rest = removed_from(f"{added}mine\n")
    assert rest == f"{text}mine\n" or (rest == f"{text}\nmine\n" and not text.endswith("\n"))


def test_what_others_wrote_into_our_new_file_keeps_it() -> None:
    assert removed_from(added_to(None)[0] + "mine\n") == "mine\n"


def test_lines_added_again_after_the_user_removed_one_all_go() -> None:
    added, _ = added_to("*.o\n")
    less = added.replace(".agx/\n", "")
    again, missing = added_to(less)
    assert missing == [".agx/"]
    assert removed_from(again) == "*.o\n"


def test_a_line_that_only_mentions_us_stays() -> None:
    text = "x # added by dagentd\n.dagent/\n"
    assert removed_from(text) == text


def test_a_link_is_followed_and_stays_a_link(tmp_path: Path) -> None:
    project = Project(tmp_path, tmp_path / ".git")
    target = tmp_path / "dotfiles-exclude"
    target.write_bytes(b"*.o")
    (project.common_dir / "info").mkdir(parents=True)
    link = project.common_dir / "info" / "exclude"
    link.symlink_to(target)
    assert exclude.add(project) == list(PATTERNS)
    assert link.is_symlink()
    exclude.remove(project)
    assert link.is_symlink()
    assert target.read_bytes() == b"*.o"


def test_a_file_that_was_not_there_is_not_there_again(tmp_path: Path) -> None:
    project = Project(tmp_path, tmp_path / ".git")
    project.common_dir.mkdir()
    exclude.add(project)
    exclude.remove(project)
    exclude.remove(project)
    assert not exclude.file_of(project).exists()


def test_mode_and_bytes_that_are_no_text_are_kept(tmp_path: Path) -> None:
    project = Project(tmp_path, tmp_path / ".git")
    file = exclude.file_of(project)
    file.parent.mkdir(parents=True)
    file.write_bytes(b"\xff\xfe\n")
    file.chmod(0o640)
    exclude.add(project)
    assert exclude.add(project) == []
    exclude.remove(project)
    assert file.read_bytes() == b"\xff\xfe\n"
    assert file.stat().st_mode & 0o777 == 0o640
