"""Files that another program may be writing just now: since when each is as it is. It is known here and not to whoever
looks, because a worker that must wait ends, and comes again as another one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from dagentd.adapters import clock

PATIENCE = 5.0  # seconds for a file that is written all the time and never makes sense
_MANY = 1000


@dataclass(frozen=True)
class _Suspect:
    state: object
    since: float  # it is so
    first: float  # it was waited for
    last: float  # it was looked at


_suspects: dict[Path, _Suspect] = {}


def age(path: Path, state: object) -> float:
    """For how many seconds a file has been seen in this state, which makes no sense yet."""
    now, known = clock.monotonic(), _suspects.get(path)
    if known is None:
        _forget_some(now)
        known = _Suspect(state, now, now, now)
    since = known.since if known.state == state else now
    first = known.first if now - known.last < PATIENCE else now
    _suspects[path] = _Suspect(state, since, first, now)
    return now - since


def is_worth_waiting(path: Path) -> bool:
    """False, once, for what has been waited for in vain; who looks again later waits again."""
    now, known = clock.monotonic(), _suspects.get(path)
    if known is not None and now - known.first >= PATIENCE:
        _suspects[path] = replace(known, first=now)
        return False
    return True


def settled(path: Path) -> None:
    """It makes sense, or is given up."""
    _suspects.pop(path, None)


def _forget_some(now: float) -> None:
    """Of files that are long gone."""
    if len(_suspects) >= _MANY:
        for path in [path for path, each in list(_suspects.items()) if now - each.last > 60 * PATIENCE]:
            _suspects.pop(path, None)
