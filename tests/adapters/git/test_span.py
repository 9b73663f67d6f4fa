"""The commits of a span of time."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from dagentd.adapters.git.command import commits_between


def test_commits_between_two_moments_are_found_and_those_of_the_first_second_were_there_before(tmp_path: Path) -> None:
    assert commits_between(tmp_path, "2026-01-01T10:00:00.000Z", "2026-01-01T11:00:00.000Z") == []
    subprocess.run(("git", "init", "-q"), cwd=tmp_path, check=True)
    for subject, at in (("before", "09:59:59"), ("then", "10:00:00"), ("one", "10:00:01"), ("two", "11:00:00"),
                        ("later", "11:00:01")):  # fmt: skip
        named = ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", subject)
        date = {"GIT_COMMITTER_DATE": f"2026-01-01T{at}Z"}
        subprocess.run(("git", *named), cwd=tmp_path, check=True, env=os.environ | date)
    found = commits_between(tmp_path, "2026-01-01T10:00:00.500Z", "2026-01-01T11:00:00.900Z")
    assert [subject for _, subject in found] == ["one", "two"] and all(len(sha) == 7 for sha, _ in found)
