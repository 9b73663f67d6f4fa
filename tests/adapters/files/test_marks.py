"""Whether a file is as it was seen."""

from __future__ import annotations

import os
from pathlib import Path

from dagentd.adapters.files import marks


def test_whatever_happens_to_a_file_is_seen(tmp_path: Path) -> None:
    path, seen = tmp_path / "file", list[tuple[int, ...]]()

    def is_new() -> bool:
        seen.append(marks.seen(path))
        return seen[-1] not in seen[:-1]

    assert is_new()
    path.write_bytes(b"one")
    assert is_new() and not is_new()
    path.write_bytes(b"more")
    assert is_new()
    (tmp_path / "other").write_bytes(b"more")
    os.replace(tmp_path / "other", path)
    assert is_new()
    os.utime(path, ns=(0, 0))
    assert is_new()
    path.unlink()
    assert not is_new(), "it is not there, as at first"


def test_a_link_is_looked_behind_only_where_that_is_asked(tmp_path: Path) -> None:
    (link := tmp_path / "link").symlink_to(tmp_path / "file")
    before, behind = marks.seen(link), marks.seen(link, follow=True)
    (tmp_path / "file").write_bytes(b"one")
    assert marks.seen(link) == before
    assert marks.seen(link, follow=True) == marks.seen(tmp_path / "file") != behind
