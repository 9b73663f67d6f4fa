"""Group commit: all that waits for one session goes to its journal in one append and one sync."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from dagentd.model.records import Record

# What a ticket plans: the records to append, and the answer once they are synced. It is given the ids that
# others in the same append bring.
Plan = Callable[[dict[str, bytes]], tuple[list[Record], Any]]


class Ticket:
    """One caller's wish. `alone`: planned against a state that nothing else in the same append changes."""

    def __init__(self, plan: Plan, alone: bool) -> None:
        self.plan = plan
        self.alone = alone
        self.records: list[Record] = []
        self.answer: Any = None
        self.error: BaseException | None = None
        self.done = False
        self._gate = threading.Lock()
        self._gate.acquire()

    def wait(self) -> None:
        self._gate.acquire()

    def wake(self) -> None:
        self._gate.release()


Commit = Callable[[list[Ticket]], None]


class CommitQueue:
    """The first caller commits for all who came meanwhile, then hands on to the first of those who came after. How to
    commit is given by the callers: held here, it would hold the session that holds this."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._waiting: deque[Ticket] = deque()
        self._busy = False

    def submit(self, commit: Commit, plan: Plan, alone: bool = False) -> Any:
        ticket = Ticket(plan, alone)
        with self._mutex:
            self._waiting.append(ticket)
            lead, self._busy = not self._busy, True
        if not lead:
            ticket.wait()
        while not ticket.done:
            self._lead(commit, ticket)
        if ticket.error is not None:
            raise ticket.error
        return ticket.answer

    def _lead(self, commit: Commit, mine: Ticket) -> None:
        with self._mutex:
            batch = [self._waiting.popleft()]
            while not batch[0].alone and self._waiting and not self._waiting[0].alone:
                batch.append(self._waiting.popleft())
        try:
            commit(batch)
        except BaseException as error:
            for ticket in batch:
                ticket.error = ticket.error or error
        for ticket in batch:
            ticket.done = True
            if ticket is not mine:
                ticket.wake()
        if not mine.done:
            return
        with self._mutex:  # hand on
            if self._waiting:
                self._waiting[0].wake()
            else:
                self._busy = False
