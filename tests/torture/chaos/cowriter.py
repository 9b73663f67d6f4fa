"""The app: it reads the documents, adds to what it read, and writes them by truncating, also copies that are old."""

from __future__ import annotations

import json
import random
import threading
import time
from pathlib import Path
from typing import Any

from tests.store.app import App
from tests.store.app import said as app_said
from tests.torture.chaos.truth import Truth
from tests.torture.chaos.world import Place, World

_PAUSE = 0.1
_TAKEN_IN = 5.0  # seconds before it writes an old copy; what is not taken in by then it may lose itself


class Cowriter:
    def __init__(self, world: World, truth: Truth, dice: random.Random) -> None:
        self._world, self._truth, self._dice = world, truth, dice
        self._number = 0
        self._waiting: dict[str, set[str]] = {}  # contents that may not be in the journal yet, by session
        self._spoilt: set[Path] = set()  # files that we ourselves left half written
        self._old: dict[str, dict[str, Any]] = {}

    def run(self, over: threading.Event) -> None:
        self._over = over
        while not over.wait(self._dice.random() * _PAUSE):
            place, sid = self._dice.choice(self._world.sessions())
            with place.lock:
                if place.there:
                    self._act(place, sid)

    def _act(self, place: Place, sid: str) -> None:
        app = place.app(sid)
        chat = self._read(app)
        if chat is None:
            return
        dice = self._dice.random()
        if dice < 0.75:
            self._push(place, sid, app, chat)
        elif dice < 0.85 and sid in self._old and self._is_taken_in(place, sid):
            self._write(place, sid, app, self._old.pop(sid))
            self._truth.count("old copies written")
        elif dice < 0.9:
            self._old[sid] = chat
        elif dice < 0.92 and self._is_taken_in(place, sid):
            self._write(place, sid, app, App.chat_of([]))
            self._truth.count("clears by the app")

    def _read(self, app: App) -> dict[str, Any] | None:
        """Whole, whenever it looks; unless it spoilt the file itself."""
        path = app.paths["chat"]
        try:
            data = path.read_bytes()
        except OSError:  # not written yet, or not allowed
            return None
        try:
            chat: dict[str, Any] = json.loads(data)
        except ValueError:
            if path not in self._spoilt:
                self._truth.complain(f"{path} was not whole: {data[:60]!r}…{data[-60:]!r}")
            return None
        self._spoilt.discard(path)
        return chat

    def _push(self, place: Place, sid: str, app: App, chat: dict[str, Any]) -> None:
        self._number += 1
        name = f"app-{self._number}"
        message = app_said(name, f"<{name}> The app says so.")
        chat["messages"].append(message)
        if self._write(place, sid, app, chat):
            self._waiting.setdefault(sid, set()).add(message["content"])
            self._truth.wrote(sid, message["content"])

    def _write(self, place: Place, sid: str, app: App, chat: dict[str, Any]) -> bool:
        """In one piece, or slowly in some. One that fails has truncated the file, and lost what was not taken in."""
        path, data = app.paths["chat"], json.dumps(chat, indent=2).encode()
        pieces = 1 if self._dice.random() < 0.7 else 3
        try:
            file = path.open("r+b", buffering=0)
        except OSError:
            return False
        try:
            with file:
                file.truncate()
                for start in range(0, len(data), len(data) // pieces + 1):
                    part = data[start : start + len(data) // pieces + 1]
                    if file.write(part) != len(part):
                        raise OSError("short")
                    time.sleep(0.002 * (pieces - 1))
        except OSError:
            self._spoilt.add(path)
            self._lose(place, sid)
            return False
        self._spoilt.discard(path)
        return True

    def _is_taken_in(self, place: Place, sid: str) -> bool:
        end = time.monotonic() + _TAKEN_IN
        while self._missing(place, sid):
            if time.monotonic() > end or self._over.wait(0.05):
                return False
        return True

    def _missing(self, place: Place, sid: str) -> set[str]:
        waiting = self._waiting.setdefault(sid, set())
        try:
            data = place.files(sid).journal.read_bytes()
        except OSError:
            return waiting
        waiting.difference_update({each for each in waiting if each.split(">")[0].encode() + b">" in data})
        return waiting

    def _lose(self, place: Place, sid: str) -> None:
        self._truth.excuse(*self._missing(place, sid))
        self._waiting.pop(sid, None)

    def removed(self, place: Place) -> None:
        """Its worktree goes: what the daemon has not seen goes with it."""
        for sid in place.sessions:
            self._old.pop(sid, None)
            self._lose(place, sid)
            for path in place.app(sid).paths.values():
                self._spoilt.discard(path)
