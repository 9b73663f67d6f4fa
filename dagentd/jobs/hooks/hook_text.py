"""The text of hooks, as files and in git's own configuration: with our part put in, and taken out byte for byte."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from dagentd.adapters import shipped
from dagentd.errors import NotAllowed
from dagentd.model.project import Project
from dagentd.store.spool import EVENTS

# A part of ours in somebody else's file, between two marks: put in, and taken out byte for byte.

_BEGIN, _END = b"# >>> dagentd >>> `dagentd hooks uninstall` removes this part", b"# <<< dagentd <<<"
# What goes with our part, because it was not there before.
BREAK, FILE, FOLDER = b", the line break before it", b", this file", b", this file and its folder"
_OURS = re.compile(
    rb"^" + re.escape(_BEGIN) + rb"(?P<more>[^\n]*)\n(?P<inner>(?:[^\n]*\n)*?)" + re.escape(_END) + rb"(?:\n|\Z)",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Parts:
    """`rest` is the file as it was without us, `inner` what stood between the marks, `more` what goes with it."""

    rest: bytes
    inner: bytes
    more: frozenset[bytes]


def marked_part(inner: bytes, more: bytes = b"") -> bytes:
    return _BEGIN + more + b"\n" + inner + _END + b"\n"


def taken_apart(held: bytes, *, leaving: bytes = b"") -> Parts | None:
    """None if nothing in it is ours; `leaving` goes in place of it. It may be there twice: other tools copy hooks."""
    rest, inner, more = held, b"", set[bytes]()
    while found := _OURS.search(rest):
        before, after = rest[: found.start()], rest[found.end() :]
        if found["more"] == BREAK and not leaving + after:
            before = before.removesuffix(b"\n")
        rest, inner = before + leaving + after, found["inner"]
        more.add(found["more"])
    if _BEGIN in rest:
        raise NotAllowed("has the first line of dagentd's part and not its last", hint="Remove that part yourself.")
    return Parts(rest, inner, frozenset(more)) if more else None


# What a hook file should hold: from the bytes that are there to those with our part, and back.

_SHEBANG = b"#!/bin/sh\n"
_SHELL = re.compile(
    rb"#![ \t]*(?:\S*/env[ \t]+(?:-S[ \t]*)?)?(?:\S*/)?(?:sh|bash|dash|ash|ksh|ksh93|mksh|zsh)"
    rb"(?P<options>(?:[ \t]+\S+)*)[ \t]*"
)
# Not -n, which runs nothing, nor -r, which forbids redirection, nor -c, -s and -i, which read something else.
_OPTION = re.compile(rb"-[abd-hj-mo-qt-zA-Z]+|pipefail|--posix|--norc|--noprofile|--")
# Such a script is for two languages at once, and the other one would stumble over our part.
_HANDED_ON = re.compile(rb"""\bexec\b[^\n]*\s["']?\$\{?0\}?["']?(?=[\s;]|\Z)""")


def to_add(event: str) -> str:
    """The shell command that does the same, for a hook that is left alone; it does nothing where dagentd is not."""
    return f'sh "$(git rev-parse --git-common-dir)/dagentd/hook" {event} 2>/dev/null || :'


def is_by_hand(held: bytes) -> bool:
    return b"/dagentd/hook" in held


def script(event: str) -> bytes:
    return shipped.text("hooks", "leave-word.sh").replace("EVENT", event).encode()


def by_itself() -> bytes:
    """A script that takes the event as its argument: what `to_add` runs."""
    return _SHEBANG + script("$1")


def with_ours(held: bytes | None, event: str, *, made_folder: bool = False) -> bytes:
    """The hook, None if there is none, as it should be: the same bytes if it is so already. Our part stands at the
    top, before anything that might end the script."""
    if held is None:
        return _own(event, FOLDER if made_folder else FILE)
    known = taken_apart(held)
    rest = known.rest if known else held
    if known and _is_own(known):
        return _own(event, FOLDER if FOLDER in known.more else FILE)
    first, line_break, others = rest.partition(b"\n")
    if not first.startswith(b"#!"):
        _refuse_unless(b"\0" not in rest, "is a program and not a script", event)
        return marked_part(script(event)) + rest  # without a line that names a program git hands it to sh
    _refuse_unless(_is_shell(first), f"is written for `{first[2:].decode('ascii', 'replace').strip()}`", event)
    _refuse_unless(not _HANDED_ON.search(rest), "hands itself to another program", event)
    return first + b"\n" + marked_part(script(event), b"" if line_break else BREAK) + others


def without_ours(held: bytes) -> tuple[bytes | None, bool] | None:
    """The hook as it was before, None if there was none, and whether its folder is ours too. None if nothing is."""
    known = taken_apart(held)
    if known is None:
        return None
    return None if _is_own(known) else known.rest, FOLDER in known.more


def _own(event: str, more: bytes) -> bytes:
    return _SHEBANG + marked_part(script(event), more)


def _is_own(known: Parts) -> bool:
    """We made the file, and nobody added to it."""
    return bool(known.more & {FILE, FOLDER}) and known.rest == _SHEBANG


def _is_shell(first: bytes) -> bool:
    found = _SHELL.fullmatch(first)
    return found is not None and all(_OPTION.fullmatch(option) for option in found["options"].split())


def _refuse_unless(met: bool, reason: str, event: str) -> None:
    if not met:
        raise NotAllowed(reason, hint=f"Have it run this command: {to_add(event)}")


# Hooks in git's own configuration, which git 2.54 and later runs beside hook files: no file of others is touched.

_HEADER, _PATH = b"[include]\n", b"\tpath = dagentd/hooks.config\n"


def config_file(project: Project) -> Path:
    """Behind its links, as every file that others made."""
    return Path(os.path.realpath(project.common_dir / "config"))


def own_file(project: Project) -> Path:
    """Taken in by one line of the repository's config; if it is gone, git goes on without it."""
    return project.own_dir / "hooks.config"


def hook_name(event: str) -> str:
    """Each event has its own: git does not tell a command which one it is run for."""
    return f"dagentd-{event}"


def own_text() -> bytes:
    sections = (
        f'[hook "{hook_name(event)}"]\n\tevent = {event}\n\tcommand = "'.encode() + _quoted(script(event)) + b'"\n'
        for event in EVENTS
    )
    return b"# Written by dagentd; `dagentd hooks uninstall` removes it.\n" + b"".join(sections)


def config_with_ours(config: bytes) -> bytes:
    """The repository's config with our line at its end."""
    known = taken_apart(config)
    if known is not None and known.inner.startswith(_HEADER + _PATH):
        return config
    more = BREAK if config and not config.endswith(b"\n") else b""
    return config + (b"\n" if more else b"") + marked_part(_HEADER + _PATH, more)


def config_without_ours(config: bytes) -> bytes:
    """As it was before. git puts a later include.path under our header: that one is the user's and stays."""
    known = taken_apart(config)
    if known is None:
        return config
    theirs = b"".join(line for line in known.inner.splitlines(keepends=True) if line not in (_HEADER, _PATH))
    if not theirs:
        return known.rest
    kept = taken_apart(config, leaving=_HEADER + theirs)
    return kept.rest if kept else config


def _quoted(script: bytes) -> bytes:
    """git puts "$@" behind it, so it must not end in a line break."""
    text = script.removesuffix(b"\n").replace(b"\\", rb"\\").replace(b'"', rb"\"")
    return text.replace(b"\t", rb"\t").replace(b"\n", b"\\n\\\n")
