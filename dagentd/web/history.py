"""Pages of a conversation: its end, what comes before or after a message, and around a message or a moment.

The daemon gives what comes before a message. What comes after one is found by its place among all: the ids and times of
a conversation are read once, from its end as far as they are needed, and kept."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from dagentd.errors import NotFound
from dagentd.model import times
from dagentd.web.link import Link

PAGE = 50
_BEFORE = 10  # of a page, before the message that is looked for
_CHUNK = 1000
_HELD = 32  # conversations

Raw = dict[str, Any]


@dataclass(frozen=True)
class Slice:
    """`earlier` and `later` say whether there is more."""

    messages: list[Raw]
    earlier: bool
    later: bool
    target: str | None = None


@dataclass
class _Known:
    """The end of a conversation, the last message first: (id, timestamp)."""

    places: list[tuple[str, str]] = field(default_factory=list)
    whole: bool = False


class Histories:
    def __init__(self, link: Link) -> None:
        self._link = link
        self._known: OrderedDict[tuple[Any, ...], _Known] = OrderedDict()
        self._lock = threading.Lock()

    def end(self, where: Raw) -> Slice:
        found = self._link.call("session.getHistory", **where, limit=PAGE)
        return Slice(found["messages"], found["more"], False)

    def before(self, where: Raw, message: str) -> Slice:
        found = self._link.call("session.getHistory", **where, before=message, limit=PAGE)
        return Slice(found["messages"], found["more"], True)

    def after(self, where: Raw, message: str) -> Slice:
        """A page that is seen live asks for what is new: that is near the end."""
        known = self._walked(where, lambda found: any(each[0] == message for each in found), fresh=True)
        at = _index(known, message)
        return self._page(where, known, max(0, at - PAGE), at)

    def around(self, where: Raw, message: str) -> Slice:
        known = self._walked(where, lambda found: any(each[0] == message for each in found), fresh=True)
        return self._near(where, known, _index(known, message))

    def at(self, where: Raw, moment: str) -> Slice:
        """The first message that is not earlier."""
        known = self._walked(where, lambda found: any(times.later(moment, each[1]) for each in found), fresh=True)
        later = [at for at, each in enumerate(known.places) if not times.later(moment, each[1])]
        return self._near(where, known, later[-1] if later else 0) if known.places else Slice([], False, False)

    def _near(self, where: Raw, known: _Known, at: int) -> Slice:
        first = min(len(known.places), at + _BEFORE + 1)
        found = self._page(where, known, max(0, first - PAGE), first)
        return Slice(found.messages, found.earlier, found.later, known.places[at][0])

    def _page(self, where: Raw, known: _Known, start: int, end: int) -> Slice:
        """Those from `start` to `end`, counted from the last message; fewer where not all fit into one answer."""
        if start == end:
            return Slice([], False, start > 0)
        before = known.places[start - 1][0] if start else None
        found = self._link.call("session.getHistory", **where, before=before, limit=end - start)
        return Slice(found["messages"], found["more"], start > 0)

    def _walked(self, where: Raw, enough: Any, *, fresh: bool) -> _Known:
        """As much of the end as is needed."""
        with self._lock:
            key = tuple(where.items())
            known = self._known.setdefault(key, _Known())
            self._known.move_to_end(key)
            while len(self._known) > _HELD:
                self._known.popitem(last=False)
            if fresh:
                self._catch_up(where, known)
            while not known.whole and not enough(known.places):
                found = self._link.call("session.getHistory", **where, before=known.places[-1][0], limit=_CHUNK)
                known.places += [_place(each) for each in reversed(found["messages"])]
                known.whole = not found["more"] or not found["messages"]
            return known

    def _catch_up(self, where: Raw, known: _Known) -> None:
        """Add what came since; if the message that was last is not found soon, all is read anew."""
        last = known.places[0][0] if known.places else None
        found = self._link.call("session.getHistory", **where, limit=PAGE)
        new = [_place(each) for each in reversed(found["messages"])]
        at = next((at for at, each in enumerate(new) if each[0] == last), None)
        if at is None:
            known.places, known.whole = new, not found["more"]
        else:
            known.places[:0] = new[:at]


def _place(message: Raw) -> tuple[str, str]:
    return str(message["id"]), str(message.get("timestamp") or "")


def _index(known: _Known, message: str) -> int:
    for at, each in enumerate(known.places):
        if each[0] == message:
            return at
    raise NotFound(f"no message {message!a}", hint="Search for what it says.")
