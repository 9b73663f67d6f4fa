"""The hub between what happens and who listens: one order for all, and the last events held for who comes back."""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from pydantic.alias_generators import to_camel

from dagentd.errors import LimitReached
from dagentd.model import jsontext

MAX_EVENTS = 4_000  # held for `since`: several minutes of a busy daemon
MAX_BYTES = 1 << 20  # of JSON; with what is around it, 2 MB of memory
MAX_SUBSCRIPTIONS = 1_000  # each costs every publisher a call

_camel = cache(to_camel)  # by regular expressions, which cost more than the rest of an event

EventType = Literal[
    "session:updated",
    "session:compaction-start",
    "session:compaction-complete",
    "session:compaction-error",
    "session:budget",
    "migration:done",
    "migration:error",
    "git:changed",
    "daemon:degraded",
    "daemon:recovered",
    "events:lost",
]


@dataclass(frozen=True, slots=True)
class Event:
    """Kept as the JSON object that goes out: encoded once for all subscribers, and of a size that can be counted."""

    type: EventType
    seq: int
    project: str | None
    session_id: str | None
    json: bytes

    def raw(self) -> dict[str, Any]:
        return dict(jsontext.decode_own(self.json))

    def to(self, subscription: str) -> bytes:
        """As it is sent, with whose it is; encoding it once more for each subscriber would cost all of them."""
        return b'%s, "subscription": "%s"}' % (self.json[:-1], subscription.encode())


# Called with the hub locked and with the subscription's id, so it neither waits nor calls the hub. False: the
# subscriber's queue is full.
Deliver = Callable[[Event, str], bool]


@dataclass(frozen=True)
class Subscription:
    """`seq` is of the last event before it. Not `continuous`: some of what came after `since` is missing."""

    id: str
    seq: int
    continuous: bool


@dataclass
class _Listener:
    id: str
    deliver: Deliver
    types: frozenset[str] | None
    project: str | None
    session_id: str | None
    lost: tuple[int, int] | None = None  # first and last seq, until the subscriber could be told

    def offer(self, event: Event, stamp: Callable[[], str]) -> None:
        if not self._wants(event):
            return
        self.confess(stamp)
        if self.lost is not None or not self.deliver(event, self.id):
            first = event.seq if self.lost is None else self.lost[0]
            self.lost = first, event.seq

    def confess(self, stamp: Callable[[], str]) -> None:
        """Say what was lost, if that fits."""
        if self.lost is not None and self.deliver(_loss(*self.lost, stamp()), self.id):
            self.lost = None

    def _wants(self, event: Event) -> bool:
        return (
            (self.types is None or event.type in self.types)
            and self.project in (None, event.project)
            and self.session_id in (None, event.session_id)
        )


class Events:
    def __init__(
        self,
        stamp: Callable[[], str],
        on_bug: Callable[[BaseException], object],
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._stamp, self._on_bug = stamp, on_bug
        self._lock = threading.Lock()
        # A daemon counts from the microsecond of its start. It would take an event every microsecond to reach the
        # numbers of the next one, so a `since` of another life is outside of what this one has published. Below
        # 2^53 until 2255, so JavaScript reads it exactly.
        self._seq = now_ns() // 1000
        self._held: deque[Event] = deque()
        self._size = 0
        self._listeners: dict[str, _Listener] = {}
        self._ids = itertools.count(1)

    def publish(
        self,
        type: EventType,
        *,
        project: str | None = None,
        feature_id: str | None = None,
        session_id: str | None = None,
        task_id: str | None = None,
        **fields: object,
    ) -> Event:
        """Tell everyone who wants to know. Never waits for a subscriber."""
        about: dict[str, Any] = {"project": project, "featureId": feature_id, "sessionId": session_id}
        if task_id is not None:
            about["taskId"] = task_id
        about |= {_camel(name): value for name, value in fields.items()}
        with self._lock:
            event = _event(type, self._seq + 1, self._stamp(), about)
            self._seq = event.seq
            self._held.append(event)
            self._size += len(event.json)
            while len(self._held) > MAX_EVENTS or self._size > MAX_BYTES:
                self._size -= len(self._held.popleft().json)
            bugs = [self._try(id, lambda each: each.offer(event, self._stamp)) for id in list(self._listeners)]
        if any(bugs):
            self._report(bugs)
        return event

    def subscribe(
        self,
        deliver: Deliver,
        types: Collection[str] | None = None,
        project: str | None = None,
        session_id: str | None = None,
        since: int | None = None,
    ) -> Subscription:
        """Deliver what is published from now on, after what is still held of what came after `since`."""
        wanted = None if types is None else frozenset(types)
        with self._lock:
            if len(self._listeners) >= MAX_SUBSCRIPTIONS:
                raise LimitReached(f"there are {MAX_SUBSCRIPTIONS} subscriptions", hint="End some of the clients.")
            listener = _Listener(str(next(self._ids)), deliver, wanted, project, session_id)
            whole, events = self._since(since)
            for event in events:
                listener.offer(event, self._stamp)
            made = Subscription(listener.id, self._seq, whole and listener.lost is None)
            self._listeners[made.id] = listener
        return made

    def unsubscribe(self, subscription: str) -> None:
        """Nothing is delivered after this returned."""
        with self._lock:
            self._listeners.pop(subscription, None)

    def has_room(self, subscription: str) -> None:
        """A subscriber that was full is told at once what it lost: the next event may be hours away."""
        with self._lock:
            bug = self._try(subscription, lambda each: each.confess(self._stamp))
        self._report([bug])

    def _since(self, since: int | None) -> tuple[bool, list[Event]]:
        """All that is held if `since` is outside of it: it is too old, of an earlier life, or of one whose clock was
        ahead, and then all of this life is new."""
        if since is None:
            return True, []
        whole = self._seq - len(self._held) <= since <= self._seq
        return whole, [event for event in self._held if not whole or event.seq > since]

    def _try(self, subscription: str, act: Callable[[_Listener], None]) -> Exception | None:
        """A subscriber that raises is dropped, and nobody else notices."""
        listener = self._listeners.get(subscription)
        try:
            if listener is not None:
                act(listener)
        except Exception as bug:
            del self._listeners[subscription]
            return bug
        return None

    def _report(self, bugs: list[Exception | None]) -> None:
        """With the lock free: whoever is told may publish."""
        for bug in bugs:
            if bug is not None:
                self._on_bug(bug)


def _event(type: EventType, seq: int, at: str, about: dict[str, Any]) -> Event:
    line = jsontext.encode({**about, "type": type, "seq": seq, "at": at})
    return Event(type, seq, about["project"], about["sessionId"], line)


def _loss(first: int, last: int, at: str) -> Event:
    """It has the seq of the last that was lost, so that the numbers a subscriber sees only grow."""
    about = {"project": None, "featureId": None, "sessionId": None, "from": first, "to": last}
    return _event("events:lost", last, at, about)
