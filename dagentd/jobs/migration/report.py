"""What a migration says of each file: what would be done, or was, and why not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from dagentd.formats.shape import Rejected

# create: a session is made of it; add: it goes into a session that is there; rewrite: it is put in today's shape where
# it is; none: nothing is to be done; barred: it was taken back; refused: it is of a newer format; paused: its session
# is. A rollback has `rolledBack`, or `kept` where the session was used since and stays.
Action = Literal["create", "add", "rewrite", "none", "barred", "refused", "paused", "failed", "rolledBack", "kept"]

DUE: tuple[Action, ...] = ("create", "add", "rewrite")
WRONG: tuple[Action, ...] = ("refused", "failed")


@dataclass(frozen=True)
class File:
    """`messages` are those that the file holds, `added` those that were new to the session; `error` says why something
    was not done and `hint` what to do, `note` what else there is to know."""

    path: str
    format: str | None
    session_id: str | None
    messages: int
    action: Action
    rejected: list[Rejected] = field(default_factory=list)
    added: int | None = None
    error: str | None = None
    hint: str = ""
    note: str | None = None

    def raw(self) -> dict[str, Any]:
        given = {"added": self.added, "error": self.error, "hint": self.hint or None, "note": self.note}
        return {
            "path": self.path,
            "format": self.format,
            "sessionId": self.session_id,
            "messages": self.messages,
            "rejected": [vars(each) for each in self.rejected],
            "action": self.action,
            **{key: value for key, value in given.items() if value is not None},
        }

    @classmethod
    def parse(cls, raw: dict[str, Any]) -> File:
        """What `raw` gave, as it comes from the daemon."""
        rejected = [Rejected(**each) for each in raw["rejected"]]
        more = (raw.get("added"), raw.get("error"), raw.get("hint", ""), raw.get("note"))
        return cls(raw["path"], raw["format"], raw["sessionId"], raw["messages"], raw["action"], rejected, *more)
