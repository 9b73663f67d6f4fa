"""Both ends of a daemon that is told what to do, one thing after the other: the worker's side does it, on real files;
the machine's side says what, at which durable step to die, and what another program does in the middle of it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from dagentd.errors import DagentdError, NotFound
from dagentd.jobs import due
from dagentd.jobs.compaction import How as Asking
from dagentd.jobs.context.checkouts import Checkouts
from dagentd.jobs.migration import Seen
from dagentd.settings import Settings
from dagentd.store.sessions.session import Session
from tests.store.place import FEATURE, PM, Place
from tests.torture.explorer_operations import ALL_LEAVES, Life
from tests.torture.explorer_power import How
from tests.torture.explorer_time import BEGIN
from tests.torture.explorer_wire import Job, Lane, listen, say

WORST = -1  # when the chat is about to be replaced

# --- the worker's side --------------------------------------------------------------------------------------------


def serve(life: Life) -> None:
    """Until it is told to stop."""
    begin = json.loads(life.job.label)
    life.time.since, life.time.wall = begin["since"], datetime.fromisoformat(begin["wall"])
    hook = Hook(life, begin["torn"])
    assert life.store
    _answer(life, hook, {})
    while line := listen():
        order = json.loads(line)
        hook.torn, hook.pause = order["torn"], order["pause"]
        hook.pause += life.power.count if hook.pause > 0 else 0
        life.power.crash = order["crash"] and life.power.count + order["crash"]
        try:
            result = {"result": ORDERS[order["do"]](life, order["with"])}
        except DagentdError as error:
            result = {"error": type(error).__name__, "told": str(error)}
        life.power.crash = hook.pause = 0
        _answer(life, hook, result)
        if order["do"] == "stop":
            return


def _answer(life: Life, hook: Hook, result: dict[str, Any]) -> None:
    hook.check("at the end")
    clock = {"since": life.time.since, "wall": life.time.wall.isoformat()}
    say("did " + json.dumps(result | clock | {"broken": hook.broken}))


class Hook:
    """At each durable step: every document is whole, unless another program left it torn."""

    def __init__(self, life: Life, torn: list[str]) -> None:
        self._life, self.torn, self.pause, self.broken = life, torn, 0, ""
        life.power.seen = self._seen

    def check(self, when: str) -> None:
        broken = [name for name in torn(self._life.root) if name not in self.torn]
        if broken and not self.broken:
            self.broken = f"{broken} not whole {when}"

    def _seen(self, what: str, path: object) -> None:
        self.check(f"before {what} of {path}")
        if self.pause and self._is_time(what, path):
            self.pause = 0
            say(f"paused {what} {path}")
            self.torn = json.loads(listen())

    def _is_time(self, what: str, path: object) -> bool:
        """At some step; or at the worst, when the chat was compared with what we know and is now replaced."""
        if self.pause == WORST:
            return what == "rename" and path == Place(self._life.root).pm.chat
        return self._life.power.count >= self.pause


def torn(root: Path) -> list[str]:
    """The names of documents that make no sense."""
    place, found = Place(root), []
    for path in (*place.pm.projections(), place.pm.context, place.flat / "feature.json"):
        try:
            json.loads(path.read_bytes())
        except FileNotFoundError:
            pass
        except ValueError:
            found.append(path.name)
    return found


def _session(life: Life) -> Session:
    return life.store.session(PM)


def _due(life: Life, _: Any) -> object:
    done = due.all_of(life.store, life.store.catalogue.feature(FEATURE), Settings(), Checkouts(), Seen())
    return [file.error and str(file.error) for file in done.files or []]


def _wait(life: Life, seconds: float) -> object:
    life.time.let_write(life.store, seconds)
    return None


def _jump(life: Life, seconds: float) -> object:
    life.time.wall += timedelta(seconds=seconds)
    return None


def _told(life: Life, _: Any) -> object:
    session = _session(life)
    history, more = session.history(limit=1 << 30)
    assert not more
    return {"chat": session.chat(), "history": history, "problems": sorted(each.id for each in session.problems)}


def _pin_item(life: Life, number: int) -> object:
    items = (_session(life).checkpoint() or {}).get("items") or []
    with contextlib.suppress(NotFound):  # somebody struck it from its list
        for item in items[number : number + 1]:
            _session(life).pin(item=item["id"])
    return len(items)


ORDERS: dict[str, Callable[[Life, Any], object]] = {
    "add": lambda life, messages: [one["id"] for one in _session(life).add(messages)],
    "clear": lambda life, _: _session(life).clear(),
    "compact": lambda life, _: life.compactor.compact(_session(life), ALL_LEAVES, Asking(seconds=0)),
    "undo": lambda life, _: life.compactor.undo(_session(life)),
    "archive": lambda life, _: _session(life).archive(),
    "create": lambda life, _: life.store.maker.get_or_create("feature", "pm", FEATURE).id,
    "checkpoint": lambda life, summary: _session(life).update_checkpoint({"summary": summary})["version"],
    "pin": lambda life, name: _session(life).pin(message=name),
    "pin item": _pin_item,
    "look": lambda life, _: _session(life).look(),
    "glance": lambda life, _: life.store.glance(life.store.catalogue.feature(FEATURE), PM),
    "reconcile": lambda life, _: [session.id for session in life.store.reconciler.reconcile()],
    "due": _due,
    "wait": _wait,
    "jump": _jump,
    "told": _told,
    "stop": lambda life, _: life.close(),
}


# --- the machine's side -------------------------------------------------------------------------------------------


@dataclass
class Reply:
    """None of these if the daemon died of it."""

    result: Any = None
    error: str = ""
    died: bool = False


@dataclass
class Daemon:
    """One after the other, on the same files; `since` is what their clocks show."""

    lane: Lane
    root: Path
    since: float = 1000.0
    wall: str = BEGIN.isoformat()
    alive: bool = False
    deaths: int = 0
    pid: int = 0
    paused: str = ""  # before what it last paused

    def start(self, crash: int = 0, how: How = "kill") -> Reply:
        label = json.dumps({"since": self.since, "wall": self.wall, "torn": torn(self.root)})
        self.pid = self.lane.start(Job("machine", str(self.root), crash, how, label=label))
        self.alive = True
        return self._reply(lambda: None)

    def do(
        self, what: str, given: Any = None, crash: int = 0, pause: int = 0, meanwhile: Callable[[], None] = lambda: None
    ) -> Reply:
        """`meanwhile` is done by somebody else at the durable step `pause`."""
        order = {"do": what, "with": given, "crash": crash, "pause": pause, "torn": torn(self.root)}
        self.lane.tell(json.dumps(order))
        return self._reply(meanwhile)

    def _reply(self, meanwhile: Callable[[], None]) -> Reply:
        while True:
            word, rest = self.lane.line()
            if word == "paused":
                self.paused = rest
                meanwhile()
                self.lane.tell(json.dumps(torn(self.root)))
            elif word == "did":
                told = json.loads(rest)
                self.since, self.wall = told["since"], told["wall"]
                assert not told["broken"], told["broken"]
                return Reply(told.get("result"), f"{told['error']}: {told['told']}" if "error" in told else "")
            elif word == "ended":
                self.alive, self.deaths = False, self.deaths + 1
                assert rest == "77", f"the daemon ended with status {rest}"
                self.since += 1
                return Reply(died=True)

    def kill(self) -> None:
        """At any moment, whatever it was asked."""
        os.kill(self.pid, signal.SIGKILL)
        self.lane.finish()
        self.alive = False

    def stop(self) -> None:
        reply = self.do("stop")
        assert not reply.died and not reply.error, reply
        assert self.lane.finish().status == 0
        self.alive = False
