"""Names: of the session of a branch, of a tmux session."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from dagentd.model import ids

_LONGEST = 180  # characters of an id that are taken from a branch: five more tell it from another one
_SAFE_IN_ID = re.compile(r"[^A-Za-z0-9._-]+", re.ASCII)
_SAFE_IN_TMUX = re.compile(r"[^A-Za-z0-9_-]+", re.ASCII)  # tmux itself turns `.` and `:` into `_`


def of_branch(branch: str, is_of_another: Callable[[str], bool]) -> str:
    """The branch with `/` as `-`, and so all else that cannot be in an id; with four hex digits more if that is
    another branch's session."""
    for candidate in _candidates(branch):
        if not is_of_another(candidate):
            return candidate
    raise AssertionError("sixteen sessions of other branches have these ids")


def could_be_of(session_id: str, branch: str) -> bool:
    """Whether a session of this id may be the branch's."""
    return session_id in _candidates(branch)


def _candidates(branch: str) -> Iterator[str]:
    digits = hashlib.sha256(branch.encode("utf-8", "surrogatepass")).hexdigest()
    plain = _SAFE_IN_ID.sub("-", branch).lstrip("._-")[:_LONGEST]
    plain = re.sub(r"\.{2,}", ".", plain) or "branch"
    yield plain
    yield from (f"{plain}-{digits[at : at + 4]}" for at in range(0, len(digits), 4))


def tmux_session(prefix: str, project: str, session_id: str) -> str:
    return "-".join(_SAFE_IN_TMUX.sub("_", part) for part in (prefix, project, session_id))


def is_tmux_name(text: str) -> bool:
    """All others tmux would take for an option, a window, a pattern or a format."""
    return re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,199}", text, re.ASCII) is not None


def told_apart(name: str, root: Path) -> str:
    """For a tmux session whose name another project of the same name has."""
    return f"{name}-{hashlib.sha256(str(root).encode('utf-8', 'surrogatepass')).hexdigest()[:4]}"


def checked(session_id: str) -> str:
    return ids.checked(session_id, "session name")
