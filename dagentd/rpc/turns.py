"""Whose turn it is on one connection: requests on one session one after the other, others beside each other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Set
from dataclasses import dataclass

_WAITING = 32  # requests that may wait or run; then no more are read
_RUNNING = 4  # of them at a time


@dataclass(eq=False)
class _Turn:
    work: Callable[[], None]
    sessions: Set[str]
    running: bool = False


class Turns:
    """Each is done in a thread of its own; nobody else's slow requests hold it up."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._turns: list[_Turn] = []  # in the order they came

    def __bool__(self) -> bool:
        return bool(self._turns)

    def concern(self, sessions: Set[str]) -> bool:
        """Whether something of these sessions is still to be done."""
        with self._changed:
            return any(turn.sessions & sessions for turn in self._turns)

    def add(self, work: Callable[[], None], sessions: Set[str]) -> None:
        """Done after all that came before it on one of its sessions. Waits while there is too much to do: who sends
        faster than we work is not read."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._turns) < _WAITING)
            self._turns.append(_Turn(work, sessions))
            self._start()

    def finish(self) -> None:
        """Wait until all is done."""
        with self._changed:
            self._changed.wait_for(lambda: not self._turns)

    def _start(self) -> None:
        while (turn := self._next()) is not None:
            threading.Thread(target=self._run, args=(turn,), name="rpc-slow", daemon=True).start()

    def _next(self) -> _Turn | None:
        if sum(turn.running for turn in self._turns) >= _RUNNING:
            return None
        before: set[str] = set()
        for turn in self._turns:
            if not turn.running and not turn.sessions & before:
                turn.running = True
                return turn
            before |= turn.sessions
        return None

    def _run(self, turn: _Turn) -> None:
        try:
            turn.work()
        finally:
            with self._changed:
                self._turns.remove(turn)
                self._start()
                self._changed.notify_all()
