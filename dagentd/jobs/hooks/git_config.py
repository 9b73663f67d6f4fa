"""Hooks in git's own configuration, which git 2.54 and later runs beside hook files: no file of others is touched."""

from __future__ import annotations

import os
from pathlib import Path

from dagentd.jobs.hooks import contents, marked
from dagentd.model.project import Project
from dagentd.store.spool import EVENTS

_HEADER, _PATH = b"[include]\n", b"\tpath = dagentd/hooks.config\n"


def config_file(project: Project) -> Path:
    """Behind its links, as every file that others made."""
    return Path(os.path.realpath(project.common_dir / "config"))


def own_file(project: Project) -> Path:
    """Taken in by one line of the repository's config; if it is gone, git goes on without it."""
    return project.own_dir / "hooks.config"


def name(event: str) -> str:
    """Each event has its own: git does not tell a command which one it is run for."""
    return f"dagentd-{event}"


def own_text() -> bytes:
    sections = (
        f'[hook "{name(event)}"]\n\tevent = {event}\n\tcommand = "'.encode() + _quoted(contents.script(event)) + b'"\n'
        for event in EVENTS
    )
    return b"# Written by dagentd; `dagentd hooks uninstall` removes it.\n" + b"".join(sections)


def with_ours(config: bytes) -> bytes:
    """The repository's config with our line at its end."""
    known = marked.taken_apart(config)
    if known is not None and known.inner.startswith(_HEADER + _PATH):
        return config
    more = marked.BREAK if config and not config.endswith(b"\n") else b""
    return config + (b"\n" if more else b"") + marked.part(_HEADER + _PATH, more)


def without_ours(config: bytes) -> bytes:
    """As it was before. git puts a later include.path under our header: that one is the user's and stays."""
    known = marked.taken_apart(config)
    if known is None:
        return config
    theirs = b"".join(line for line in known.inner.splitlines(keepends=True) if line not in (_HEADER, _PATH))
    if not theirs:
        return known.rest
    kept = marked.taken_apart(config, leaving=_HEADER + theirs)
    return kept.rest if kept else config


def _quoted(script: bytes) -> bytes:
    """git puts "$@" behind it, so it must not end in a line break."""
    text = script.removesuffix(b"\n").replace(b"\\", rb"\\").replace(b'"', rb"\"")
    return text.replace(b"\t", rb"\t").replace(b"\n", b"\\n\\\n")
