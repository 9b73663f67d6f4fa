"""The state of `dagentd top`, and how news and keys change it: pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dagentd.model import figures, times

_EVENTS = 200  # remembered
_COMPACTING = {
    "session:compaction-start": True, "session:compaction-complete": False, "session:compaction-error": False,
}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """A session in the list. Its key names it among all projects and worktrees."""

    key: tuple[str, str, str]
    status: str
    messages: int | None
    share: float
    budget: str  # the share in words; empty for a conversation of another agent, which has none
    updated: str | None
    problem: str = ""

    @property
    def id(self) -> str:
        return self.key[2]

    @property
    def project(self) -> str:
        return self.key[0]

    @property
    def order(self) -> tuple[str, bool, bool, float, float, str]:
        """Under its project, archived ones last, the fullest first, then those of other agents, the last active
        first."""
        followed, moment = not self.budget, times.parse(self.updated)
        age = -moment.timestamp() if followed and moment is not None else 0.0
        return self.project, self.status == "archived", followed, -self.share, age, self.id


@dataclass(frozen=True)
class State:
    away: str = ""  # why the daemon does not answer
    status: Mapping[str, Any] = field(default_factory=dict)
    rows: tuple[Row, ...] = ()
    events: tuple[Mapping[str, Any], ...] = ()
    compacting: frozenset[str] = frozenset()
    selected: tuple[str, str, str] | None = None
    notice: str = ""
    question: tuple[str, Row] | None = None  # what to do with which session, once the user says yes
    shown: tuple[str, ...] | None = None  # the lines of a session, instead of the list
    scrolled: int = 0  # lines of it below the screen: it opens at its end

    @property
    def row(self) -> Row | None:
        return next((row for row in self.rows if row.key == self.selected), None)


# --- what happens ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fetched:
    status: Mapping[str, Any]
    sessions: Sequence[Mapping[str, Any]] | None = None  # None: as before


@dataclass(frozen=True)
class Happened:
    event: Mapping[str, Any]


@dataclass(frozen=True)
class Away:
    why: str


@dataclass(frozen=True)
class Noticed:
    text: str


@dataclass(frozen=True)
class Shown:
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Failed:
    """Somebody who hears for us has a bug."""

    bug: Exception


News = Fetched | Happened | Away | Noticed | Shown | Failed


def told(state: State, news: News) -> State:
    match news:
        case Fetched(status, sessions):
            rows = state.rows if sessions is None else tuple(sorted(map(_row, sessions), key=lambda row: row.order))
            doing = frozenset(str(each.get("sessionId")) for each in status.get("compacting", ()))
            return _selecting(replace(state, away="", status=status, rows=rows, compacting=doing), state.selected)
        case Happened(event):
            return _happened(state, event)
        case Away(why):
            return replace(state, away=why, compacting=frozenset(), question=None)
        case Noticed(text):
            return replace(state, notice=text)
        case Shown(lines):
            return replace(state, shown=lines, scrolled=0)
        case Failed(bug):
            raise bug


def _happened(state: State, event: Mapping[str, Any]) -> State:
    compacting, session = set(state.compacting), str(event.get("sessionId"))
    if (now := _COMPACTING.get(str(event.get("type")))) is not None:
        compacting = compacting | {session} if now else compacting - {session}
    return replace(state, events=(*state.events, event)[-_EVENTS:], compacting=frozenset(compacting))


def _budget(raw: Mapping[str, Any], share: object) -> str:
    if raw.get("type") == "followed":
        return ""
    return figures.budget(raw["budget"]) if isinstance(share, int | float) else "0 %"


def _row(raw: Mapping[str, Any]) -> Row:
    """Of whatever version the daemon is: what it does not say is left out."""
    worktree, messages, budget = str(raw.get("worktree", "")), raw.get("messages"), raw.get("budget")
    root = str(raw.get("project") or worktree.partition("/.dagent-worktrees/")[0])
    updated = raw.get("updatedAt", raw.get("lastActiveAt"))
    share = budget.get("share") if isinstance(budget, dict) else None
    return Row(
        key=(root, Path(worktree).name, str(raw.get("id", ""))),
        status="unreadable" if "error" in raw else str(raw.get("status", "active")),
        messages=messages if isinstance(messages, int) else None,
        share=float(share) if isinstance(share, int | float) else 0.0,
        budget=_budget(raw, share),
        updated=updated if isinstance(updated, str) else None,
        problem=str(raw.get("error") or raw.get("title") or ""),
    )


def _selecting(state: State, key: tuple[str, str, str] | None) -> State:
    """That session; or if it is not there, the first."""
    keys = [row.key for row in state.rows]
    return replace(state, selected=key if key in keys else keys[0] if keys else None)


# --- what is typed --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Act:
    """To be done with a session: `compact`, `undo`, `archive` or `show`."""

    what: str
    row: Row


QUIT = "quit"
_ACTS = {"c": "compact", "u": "undo", "a": "archive"}
_STEPS = {"up": -1, "k": -1, "down": 1, "j": 1, "pageup": -10, "pagedown": 10, "g": -(10**6), "G": 10**6}


def typed(state: State, key: str) -> tuple[State, Act | str | None]:
    """The state after a key, and what is to be done."""
    state = replace(state, notice="")
    if state.question is not None:
        what, row = state.question
        return replace(state, question=None), Act(what, row) if key == "y" else None
    if state.shown is not None:
        return _typed_on_shown(state, key)
    if key == "q":
        return state, QUIT
    if key in _STEPS:
        return _moved(state, _STEPS[key]), None
    if state.row is not None and key in _ACTS:
        return replace(state, question=(_ACTS[key], state.row)), None
    return state, Act("show", state.row) if state.row is not None and key in ("enter", "s") else None


def _typed_on_shown(state: State, key: str) -> tuple[State, None]:
    if key in ("q", "escape", "enter", "s"):
        return replace(state, shown=None, scrolled=0), None
    last = max(0, len(state.shown or ()) - 1)
    return replace(state, scrolled=min(max(state.scrolled - _STEPS.get(key, 0), 0), last)), None


def _moved(state: State, by: int) -> State:
    keys = [row.key for row in state.rows]
    if not keys:
        return state
    at = keys.index(state.selected) if state.selected in keys else 0
    return replace(state, selected=keys[min(max(at + by, 0), len(keys) - 1)])
