"""What a hook file should hold: from the bytes that are there to those with our part, and back."""

from __future__ import annotations

import re

from dagentd.adapters import shipped
from dagentd.errors import NotAllowed
from dagentd.jobs.hooks import marked

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
        return _own(event, marked.FOLDER if made_folder else marked.FILE)
    known = marked.taken_apart(held)
    rest = known.rest if known else held
    if known and _is_own(known):
        return _own(event, marked.FOLDER if marked.FOLDER in known.more else marked.FILE)
    first, line_break, others = rest.partition(b"\n")
    if not first.startswith(b"#!"):
        return marked.part(script(event)) + _text(rest, event)
    _refuse_unless(_is_shell(first), f"is written for `{first[2:].decode('ascii', 'replace').strip()}`", event)
    _refuse_unless(not _HANDED_ON.search(rest), "hands itself to another program", event)
    return first + b"\n" + marked.part(script(event), b"" if line_break else marked.BREAK) + others


def without_ours(held: bytes) -> tuple[bytes | None, bool] | None:
    """The hook as it was before, None if there was none, and whether its folder is ours too. None if nothing is."""
    known = marked.taken_apart(held)
    if known is None:
        return None
    return None if _is_own(known) else known.rest, marked.FOLDER in known.more


def _own(event: str, more: bytes) -> bytes:
    return _SHEBANG + marked.part(script(event), more)


def _is_own(known: marked.Parts) -> bool:
    """We made the file, and nobody added to it."""
    return bool(known.more & {marked.FILE, marked.FOLDER}) and known.rest == _SHEBANG


def _text(held: bytes, event: str) -> bytes:
    """A text without a first line that names a program: git hands it to sh."""
    _refuse_unless(b"\0" not in held, "is a program and not a script", event)
    return held


def _is_shell(first: bytes) -> bool:
    found = _SHELL.fullmatch(first)
    return found is not None and all(_OPTION.fullmatch(option) for option in found["options"].split())


def _refuse_unless(met: bool, reason: str, event: str) -> None:
    if not met:
        raise NotAllowed(reason, hint=f"Have it run this command: {to_add(event)}")
