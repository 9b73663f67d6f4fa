"""What is wrong, as a user is told of it."""

from __future__ import annotations

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
