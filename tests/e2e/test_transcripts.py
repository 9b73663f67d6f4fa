"""What the commands print is what their transcripts say."""

from __future__ import annotations

import pytest

from dagentd import cli
from dagentd.adapters.git.command import are_configurable
from tests.e2e.transcript import FOLDER, parsed, played

TRANSCRIPTS = sorted(FOLDER.glob("*.md"))


# From git 2.54 on, hooks are in its configuration, and these say so.
ABOUT_HOOKS = {"init", "remove", "hooks", "doctor"}


@pytest.mark.parametrize("name", [path.stem for path in TRANSCRIPTS])
def test_transcript(name: str) -> None:
    if name in ABOUT_HOOKS and are_configurable():
        pytest.skip("this git keeps hooks in its configuration; the transcripts are of one that keeps files")
    written = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    assert played(written) == written, f"run `python -m tests.e2e.transcript {name}` and look at the difference"


def test_each_command_has_one() -> None:
    assert {path.stem for path in TRANSCRIPTS} == set(cli.COMMANDS)


@pytest.mark.parametrize("name", [path.stem for path in TRANSCRIPTS])
def test_it_shows_its_command(name: str) -> None:
    commands = [part.command for part in parsed((FOLDER / f"{name}.md").read_text(encoding="utf-8"))]
    assert any(command and f"dagentd {name}" in command for command in commands)
