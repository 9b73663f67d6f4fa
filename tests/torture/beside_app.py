"""Both versions of the app at work in one project, tools that talk to the daemon, and a daemon that is killed again and
again: what was said is there once, but for what the app emptied while no daemon lived."""

from __future__ import annotations

import json
import random
import re
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dagentd.errors import DagentdError
from dagentd.rpc.client import RpcError
from tests.e2e.daemon import Daemon, until
from tests.torture.desktop_app import DesktopApp

OLD, NEW = "login", "theme"
TASK = "t1"
LEGACY = 20
_PATIENCE = 120.0
_SAID = re.compile(rb"<[a-z]+-[a-z0-9-]+>")


@dataclass
class Truth:
    """What must be found, and what need not be."""

    said: set[str] = field(default_factory=set)
    excused: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


class World:
    """A project with a feature of each version, each with older files; and its daemon."""

    def __init__(self, root: Path, daemon: Daemon) -> None:
        self.root, self.daemon, self.truth = root, daemon, Truth()
        self._process: subprocess.Popen[str] | None = None
        self.lives = False  # a daemon, from before its process is made until that has ended
        self.still = threading.Lock()  # held by whoever counts on it that none comes to life
        self.over = threading.Event()
        self.kept = root / ".git" / "dagentd" / "kept"

    def make(self) -> tuple[DesktopApp, DesktopApp]:
        old = DesktopApp(self._feature(self.root / ".dagent-worktrees" / OLD / ".dagent", OLD), OLD)
        backlog = self._feature(self.root / ".dagent" / "features" / "backlog" / NEW, NEW)
        return old, DesktopApp(backlog, NEW, newest=True)

    def _feature(self, folder: Path, name: str) -> Path:
        task = folder / "nodes" / TASK
        task.mkdir(parents=True)
        (folder / "feature.json").write_text(json.dumps({"id": name, "name": name}))
        said = [f"<old-{name}-{number}>" for number in range(LEGACY)]
        told = [f"<task-{name}-{number}>" for number in range(LEGACY)]
        at = "2026-01-15T10:00:00.000Z"
        chat = {"entries": [{"role": "user", "content": each, "timestamp": at} for each in said]}
        log = [
            {"direction": "task_to_harness", "type": "x", "content": each, "timestamp": 1768471200000} for each in told
        ]
        (folder / "chat.json").write_text(json.dumps(chat))
        (task / "session.json").write_text(json.dumps({"taskId": TASK, "messages": log}))
        self.truth.said |= {*said, *told}
        return folder

    # --- the daemon ---------------------------------------------------------------------------------------

    def start(self) -> None:
        with self.still:
            self.lives = True
        self._process = self.daemon.run(self.root)

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self.lives = False
        self.truth.counts["kills"] += 1

    # --- what it knows ------------------------------------------------------------------------------------

    def missing(self, wanted: set[str]) -> set[str]:
        """Those that no journal has."""
        data = b"\n".join(path.read_bytes() for path in self.kept.glob("*.jsonl"))
        return wanted - {each.decode() for each in _SAID.findall(data)}

    def found(self) -> Counter[tuple[str, str]]:
        """How many messages of a journal say each. Of a session that was remade elsewhere there are two, and both may
        have what is in an older file."""
        ids: dict[tuple[str, str], set[str]] = {}
        for path in self.kept.glob("*.jsonl"):
            for line in path.read_bytes().splitlines():
                with suppress(ValueError):
                    record = json.loads(line)
                    if record["t"] == "message":
                        said = record["message"]
                        ids.setdefault((path.name, said["content"]), set()).add(said["id"])
        return Counter({said: len(each) for said, each in ids.items()})


class Player:
    """One app, used by somebody: mostly it adds. It empties a chat only when the daemon has it, or when none lives."""

    def __init__(self, world: World, app: DesktopApp, name: str, dice: random.Random) -> None:
        self.world, self.app, self.name, self._dice = world, app, name, dice
        self._number = 0
        self._steps = self._migrations()

    def _migrations(self) -> list[Iterator[Any]]:
        return [self.app.migrate_chat(), self.app.migrate_task(TASK)]

    def play(self, count: int) -> None:
        while self._number < count and not self.world.over.is_set():
            self._turn(count)
            self.world.over.wait(self._dice.random() / 50)
        for each in self._steps:
            list(each)

    def _turn(self, count: int) -> None:
        sid, draw = self.app.session(), self._dice.random()
        if draw < 0.1:
            next(self._dice.choice(self._steps), None)
        elif draw < 0.125:
            self._emptying(sid, "clears", lambda: self.app.clear(sid))
        elif draw < 0.15:
            lists = ("critical", "important") if self.app.newest else ("decisions", "pending")
            words = {name: [f"in words {self._dice.random()}"] for name in lists}
            self._emptying(sid, "compactions", lambda: self.app.compact(sid, **words))
        elif draw < 0.155:
            self._emptying(sid, "remakes", lambda: self.app.remake(sid))
        elif draw < 0.17:
            self.app.forget()
            self._steps = self._migrations()
        elif self.app.newest and self._number > count // 3 and "backlog" in self.app.feature.parts:
            self._emptying(sid, "starts", self._start)
        else:
            self._add(sid)

    def _add(self, sid: str) -> None:
        text = f"<{self.name}-{self._number}>"
        if self.app.add(sid, text, self._dice.choice(("user", "assistant"))) is None:
            self.world.truth.wrong.append(f"the app found no chat when it added {text}")
            return
        self._number += 1
        self.world.truth.said.add(text)

    def _start(self) -> None:
        self.app = self.app.start_from_backlog(self.world.root / ".dagent-worktrees" / "neon")
        self._steps = self._migrations()

    def _emptying(self, sid: str, what: str, act: Callable[[], object]) -> None:
        shown = {each["content"] for each in self.app.chat(sid)}
        self.world.truth.counts[what] += 1
        end = time.monotonic() + _PATIENCE
        while not self._emptied(shown, act):
            if time.monotonic() > end:
                lost = self.world.missing(shown)
                self.world.truth.wrong.append(f"on disk for {_PATIENCE} s and not taken in: {sorted(lost)}")
                return
            time.sleep(0.02)

    def _emptied(self, shown: set[str], act: Callable[[], object]) -> bool:
        """Not while a daemon lives that has yet to take some of it in."""
        with self.world.still:
            lost = self.world.missing(shown)
            if lost and self.world.lives:
                return False
            self.world.truth.excused |= lost
            act()
            return True


class Talker:
    """A tool that adds to the same sessions by the socket, and says it again until it is answered."""

    def __init__(self, world: World, session_id: str, name: str) -> None:
        self._world, self._sid, self._name = world, session_id, name

    def play(self, count: int) -> None:
        for number in range(count):
            text = f"<{self._name}-{number}>"
            while not self._world.over.is_set() and not self._added(text):
                time.sleep(0.05)
            if self._world.over.is_set():
                return
            self._world.truth.said.add(text)

    def _added(self, text: str) -> bool:
        given = {"sessionId": self._sid, "role": "user", "content": text, "id": text.strip("<>")}
        try:
            self._world.daemon.call("session.addMessage", **given)
        except (RpcError, DagentdError, OSError):  # no daemon, or no such session at this moment
            return False
        return True


def run(root: Path, daemon: Daemon, seed: int, count: int, kills: int) -> Truth:
    """`count` messages of each side."""
    dice, world = random.Random(seed), World(root, daemon)
    old, new = world.make()
    players = [Player(world, old, "o", random.Random(seed + 1)), Player(world, new, "n", random.Random(seed + 2))]
    talkers = [Talker(world, f"pm-feature-{OLD}", "to"), Talker(world, f"pm-feature-{NEW}", "tn")]
    world.start()
    plays = [*(each.play for each in players), *(each.play for each in talkers)]
    threads = [threading.Thread(target=play, args=(count // 2,)) for play in plays]
    for thread in threads:
        thread.start()
    for _ in range(kills):
        if not any(thread.is_alive() for thread in threads):
            break
        time.sleep(0.5 + dice.random() * 2)
        world.kill()
        time.sleep(dice.random() / 2)
        world.start()
    for thread in threads:
        thread.join(_PATIENCE + count / 10)
    world.over.set()
    wanted = world.truth.said - world.truth.excused
    until(lambda: not world.missing(wanted), "taking all of it in", _PATIENCE)
    for side, names in (("by the app", ("<o-", "<n-")), ("by tools", ("<to-", "<tn-"))):
        world.truth.counts[side] = sum(each.startswith(names) for each in world.truth.said)
        if world.truth.counts[side] != 2 * (count // 2):
            world.truth.wrong.append(f"only {world.truth.counts[side]} {side}")
    found = world.found()
    twice = {said: number for said, number in found.items() if number > 1}
    if twice:
        world.truth.wrong.append(f"{len(twice)} are there more than once: {sorted(twice.items())[:5]}")
    return world.truth
