"""Hooks in git's configuration: what is added to the repository's config comes out without a trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from dagentd.jobs.hooks import contents, git_config
from dagentd.jobs.hooks.git_config import with_ours, without_ours
from dagentd.store.spool import EVENTS
from tests.conftest import git


@pytest.mark.parametrize("config", [b"", b"[core]\n\tbare = false\n", b"[core]\n\tbare = false", b"# \xff\n\n"])
def test_it_is_added_once_and_comes_out_without_a_trace(config: bytes) -> None:
    added = with_ours(config)
    assert added.startswith(config)
    assert with_ours(added) == added
    assert without_ours(added) == config
    assert without_ours(config) == config


def test_what_comes_after_it_stays() -> None:
    added = with_ours(b"[core]\n\tbare = false") + b"[user]\n\tname = x\n"
    assert without_ours(added) == b"[core]\n\tbare = false\n[user]\n\tname = x\n"


def test_an_include_that_git_put_under_our_header_stays(repo: Path) -> None:
    config = repo / ".git" / "config"
    config.write_bytes(with_ours(config.read_bytes()))
    git(repo, "config", "--local", "--add", "include.path", "mine")
    config.write_bytes(without_ours(config.read_bytes()))
    assert git(repo, "config", "--local", "--get-all", "include.path") == "mine"
    assert b"dagentd" not in config.read_bytes()


def test_git_reads_the_scripts_as_they_are(repo: Path) -> None:
    own = repo / ".git" / "dagentd" / "hooks.config"
    own.parent.mkdir()
    own.write_bytes(git_config.own_text())
    config = repo / ".git" / "config"
    config.write_bytes(with_ours(config.read_bytes()))
    for event in EVENTS:
        name = git_config.name(event)
        assert git(repo, "config", "--get-all", f"hook.{name}.event") == event
        command = git(repo, "config", "--get", f"hook.{name}.command")
        assert command == contents.script(event).decode().strip()
        assert command.endswith("|| :"), 'git puts "$@" behind it'
