"""Problems, as a user is told of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

from dagentd.errors import DagentdError


@dataclass(frozen=True)
class Problem:
    id: str
    message: str
    path: str
    hint: str
    since: str

    @classmethod
    def of(cls, kind: str, error: DagentdError, since: str) -> Problem:
        return cls(kind, error.message, error.path or "", error.hint, since)

    def raw(self) -> dict[str, str]:
        return asdict(self)


def each_once(problems: Iterable[Problem]) -> list[Problem]:
    """A folder that is closed to us cannot be watched either: that goes without saying."""
    found = list({(each.id, each.path, each.message): each for each in problems}.values())
    closed = {each.path for each in found if each.id == "folder"}
    return [each for each in found if each.id != "watch-refused" or each.path not in closed]


def still_wrong(known: list[Problem], now: list[Problem]) -> list[Problem]:
    """The problems of now, each with the time at which we first saw it."""
    before = {(each.id, each.path, each.message): each for each in known}
    return [before.get((each.id, each.path, each.message), each) for each in now]


# What a check finds: the id of its kind, and the words.

Finding = tuple[str, DagentdError]
Findings = Iterator[Finding]
