"""Clients of the daemon: they append, read, compact and take back, and note what they were told."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Callable
from typing import Any

from dagentd.rpc.client import Client, RpcError, Unreachable
from tests.patience import patience
from tests.torture.chaos.keeper import Keeper
from tests.torture.chaos.samples import Samples
from tests.torture.chaos.truth import Truth
from tests.torture.chaos.world import Place, World

WORDS = (
    "Let's use PostgreSQL 16 for storage.", "The API must answer within 200 ms.", "I created src/db/pool.py.",
    "We talked about the weather and the colour of the sky for a good while.", "Never log passwords.",
    "é 🙂 \ud83d ネコ", "Traceback (most recent call last): ValueError: invalid literal", "Please add a test for it.",
)  # fmt: skip
# What an answer may say that is no message: see design.md, section 6.
NOT_FOUND, CONFLICT, FAILED, LIMIT, NOT_ALLOWED = -32001, -32002, -32003, -32004, -32006
_TWICE = 0.05  # of what is said is said once more under the same id, as by one who missed the answer
_PAUSE = 0.03  # seconds: a client that never rests leaves the others of this machine nothing


class Talker:
    """One connection at a time. What was not answered is asked again under the same id, as a client should."""

    _patience = 120.0

    def __init__(self, name: str, world: World, keeper: Keeper, truth: Truth, samples: Samples, dice: random.Random):
        self._name, self._world, self._keeper, self._truth, self._samples = name, world, keeper, truth, samples
        self._dice, self._number = dice, 0
        self._client: Client | None = None

    def run(self, over: threading.Event) -> None:
        self._over = over
        acts, weights = zip(*self._weights().items(), strict=True)
        while not over.wait(self._dice.random() * _PAUSE):
            act = self._dice.choices(acts, weights)[0]
            place, sid = self._dice.choice(self._world.sessions())
            if not place.there and self._dice.random() < 0.8:  # the rest shows what is said of those that are gone
                continue
            with contextlib.suppress(Unreachable):
                self._answered(act, place, sid)
        self._hang_up()

    def _weights(self) -> dict[Callable[[str], None], int]:
        """What it does, and how often beside the rest."""
        return {
            self._add: 60, self._add_anonymous: 8, self._add_group: 8, self._read: 12, self._change: 12,
        }  # fmt: skip

    def _answered(self, act: Callable[[str], None], place: Place, sid: str) -> None:
        try:
            act(sid)
        except RpcError as error:
            self._refused(error)
            if error.code == NOT_FOUND:
                self._create(place, sid)

    def _refused(self, error: RpcError) -> None:
        self._truth.refuse(f"{error.code} {error.message[:70]}")
        if error.code not in (NOT_FOUND, CONFLICT, FAILED, LIMIT, NOT_ALLOWED):
            self._truth.complain(f"an answer that tells of a bug: {error.code} {error} ({error.hint})")
        elif not error.hint:
            self._truth.complain(f"an error without a hint: {error.code} {error}")

    # --- appending ----------------------------------------------------------------------------------------

    def _message(self) -> dict[str, Any]:
        self._number += 1
        name = f"{self._name}-{self._number}"
        words = " ".join(self._dice.choices(WORDS, k=self._dice.choice([1, 3, 8, 40])))
        return {"id": name, "role": self._dice.choice(["user", "assistant"]), "content": f"<{name}> {words}"}

    def _add(self, sid: str) -> None:
        message = self._message()
        self._say(sid, [message["content"]], "session.addMessage", message)

    def _add_group(self, sid: str) -> None:
        messages = [self._message() for _ in range(3)]
        self._say(sid, [each["content"] for each in messages], "session.addMessages", {"messages": messages})

    def _add_anonymous(self, sid: str) -> None:
        """Without an id it cannot be asked again: whether it is there is then not known."""
        message = self._message()
        del message["id"]
        self._truth.sent(message["content"])
        self._call("session.addMessage", sessionId=sid, **message)
        self._truth.acknowledge(sid, message["content"])

    def _say(self, sid: str, contents: list[str], method: str, params: dict[str, Any]) -> None:
        self._truth.sent(*contents)
        while not self._over.is_set():
            try:
                start = time.monotonic()
                self._call(method, sessionId=sid, **params)
            except Unreachable:
                self._over.wait(0.05)
                continue
            self._samples.answered(time.monotonic() - start)
            self._truth.acknowledge(sid, *contents)
            if self._dice.random() > _TWICE:
                return

    # --- and all else -------------------------------------------------------------------------------------

    def _read(self, sid: str) -> None:
        asks: list[tuple[str, dict[str, Any]]] = [
            ("session.getMessages", {"limit": 5}), ("session.getHistory", {"limit": 20}), ("session.get", {}),
            ("session.getCheckpoint", {}), ("session.getContext", {}), ("session.getCompactionMetrics", {}),
            ("session.previewRequest", {}), ("session.buildRequest", {"userMessage": "What is next?"}),
        ]  # fmt: skip
        method, more = self._dice.choice(asks)
        self._call(method, sessionId=sid, **more)

    def _change(self, sid: str) -> None:
        summary = {"decisions": [f"decided by {self._name} after {self._number}"]}
        asks: list[tuple[str, dict[str, Any]]] = [
            ("session.undoCompaction", {}), ("session.clearMessages", {}), ("session.archive", {}),
            ("session.rebuildContext", {}), ("session.updateCheckpoint", {"checkpoint": {"summary": summary}}),
            ("session.search", {"query": "pool"}),
            ("daemon.status", {}), ("session.list", {}), ("project.scan", {"project": str(self._world.root)}),
            ("agx.new", {"project": str(self._world.root), "name": f"s-{self._dice.randrange(5)}"}),
            ("agx.list", {}), ("agx.index", {"rebuild": True}),
        ]  # fmt: skip
        method, more = self._dice.choice(asks)
        self._ask_for(method, sid, more)

    def _ask_for(self, method: str, sid: str, more: dict[str, Any]) -> None:
        about = {"sessionId": sid} if method.startswith("session") and method != "session.list" else {}
        self._call(method, **about, **more)
        self._truth.count(method)

    def _create(self, place: Place, sid: str) -> None:
        """Anew, or the one that went with its worktree."""
        with place.lock:
            if not place.there:
                return
            try:
                if self._dice.random() < 0.5:
                    self._call("session.restore", sessionId=sid, featureId=place.feature)
                self._call("session.getOrCreate", **place.whose(sid))
            except RpcError as error:
                self._refused(error)

    def _call(self, method: str, **params: Any) -> Any:
        try:
            if self._client is None:
                self._client = self._keeper.client(patience(self._patience))
            return self._client.call(method, **params)
        except Unreachable as error:
            if "no answer" in error.message:
                self._truth.complain(f"a call hangs: {error}")
            self._hang_up()
            raise

    def _hang_up(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None


class Compactor(Talker):
    """Asks for compactions, which wait for the model, and takes them back."""

    _patience = 480.0  # each of several for one session may ask twice, and get no answer in time

    def _weights(self) -> dict[Callable[[str], None], int]:
        return {self._compact: 3, self._undo: 2, self._propose: 1}

    def _compact(self, sid: str) -> None:
        self._ask_for("session.forceCompact", sid, {"again": self._dice.random() < 0.2})

    def _undo(self, sid: str) -> None:
        self._ask_for("session.undoCompaction", sid, {})

    def _propose(self, sid: str) -> None:
        proposal = self._call("session.previewCompaction", sessionId=sid)
        if proposal and proposal.get("proposalId"):
            self._ask_for("session.forceCompact", sid, {"proposalId": proposal["proposalId"]})
