"""A part of ours in somebody else's file, between two marks: put in, and taken out byte for byte."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dagentd.errors import NotAllowed

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


def part(inner: bytes, more: bytes = b"") -> bytes:
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
