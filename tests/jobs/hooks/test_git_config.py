"""Hooks in git's configuration: what is added to the repository's config comes out without a trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from dagentd.jobs.hooks import hook_text
from dagentd.jobs.hooks.hook_text import config_with_ours, config_without_ours
from dagentd.store.spool import EVENTS
from tests.conftest import git


@pytest.mark.parametrize("config", [b"", b"[core]\n\tbare = false\n", b"[core]\n\tbare = false", b"# \xff\n\n"])
def test_it_is_added_once_and_comes_out_without_a_trace(config: bytes) -> None:
    added = config_with_ours(config)
    assert added.startswith(config)
    assert config_with_ours(added) == added
    assert config_without_ours(added) == config
    assert config_without_ours(config) == config


def test_what_comes_after_it_stays() -> None:
    added = config_with_ours(b"[core]\n\tbare = false") + b"[user]\n\tname = x\n"
    assert config_without_ours(added) == b"[core]\n\tbare = false\n[user]\n\tname = x\n"


def test_an_include_that_git_put_under_our_header_stays(repo: Path) -> None:
    config = repo / ".git" / "config"
    config.write_bytes(config_with_ours(config.read_bytes()))
    git(repo, "config", "--local", "--add", "include.path", "mine")
    config.write_bytes(config_without_ours(config.read_bytes()))
    assert git(repo, "config", "--local", "--get-all", "include.path") == "mine"
    assert b"dagentd" not in config.read_bytes()


def test_git_reads_the_scripts_as_they_are(repo: Path) -> None:
    own = repo / ".git" / "dagentd" / "hooks.config"
    own.parent.mkdir()
    own.write_bytes(hook_text.own_text())
    config = repo / ".git" / "config"
    config.write_bytes(config_with_ours(config.read_bytes()))
    for event in EVENTS:
        name = hook_text.hook_name(event)
        assert git(repo, "config", "--get-all", f"hook.{name}.event") == event
        command = git(repo, "config", "--get", f"hook.{name}.command")
        assert command == hook_text.script(event).decode().strip()
        assert command.endswith("|| :"), 'git puts "$@" behind it'
