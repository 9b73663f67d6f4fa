"""The news for `dagentd top` from the daemon: its events as they come, and how things are, seldom."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from dagentd.cli import output
from dagentd.cli.top.state import Act, Away, Failed, Fetched, Happened, News, Noticed, Shown
from dagentd.errors import DagentdError
from dagentd.model import conversation
from dagentd.model.compaction.items import items_of
from dagentd.model.prompt_text import line
from dagentd.rpc.client import Client, Subscription

_SELDOM = 5.0  # seconds between two looks when nothing happens
_SOON = 0.5  # seconds between two looks when much happens
_AGAIN = 1.0  # seconds before a daemon that is away is looked for again
_ANSWER = 20.0  # seconds for an answer
_LONG = 700.0  # seconds: a model may take five minutes, and another compaction may come first
_METHODS = {"compact": "session.forceCompact", "undo": "session.undoCompaction", "archive": "session.archive"}

Post = Callable[[News], None]


def fetch(daemon: Client, sessions: bool = True) -> Fetched:
    status = daemon.call("daemon.status")
    return Fetched(status, daemon.call("session.list")["sessions"] if sessions else None)


class Feed:
    """In threads of its own; all that is heard is posted, in the end to the thread that owns the screen."""

    def __init__(self, post: Post) -> None:
        self._post = post
        self._stirred, self._over = threading.Event(), threading.Event()

    def start(self) -> None:
        self._spawn(self._run)

    def stop(self) -> None:
        self._over.set()
        self._stirred.set()

    def do(self, act: Act) -> None:
        """Not here: a compaction may wait for a model."""
        self._spawn(lambda: self._do(act))

    def _spawn(self, work: Callable[[], None]) -> None:
        """A bug ends in the thread that owns the screen, which gives it back first."""

        def run() -> None:
            try:
                work()
            except Exception as bug:
                self._post(Failed(bug))

        threading.Thread(target=run, daemon=True).start()

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                with Client(timeout=_ANSWER) as daemon:
                    self._follow(daemon)
            except DagentdError as error:
                self._post(Away(f"{error}. {output.step(error.hint)}" if error.hint else str(error)))
            self._over.wait(_AGAIN)

    def _follow(self, daemon: Client) -> None:
        """Until it hangs up."""
        with daemon.subscribe() as events:
            self._spawn(lambda: self._listen(events))
            self._stirred.set()
            while not self._over.is_set():
                stirred = self._stirred.wait(_SELDOM)
                self._stirred.clear()
                self._post(fetch(daemon, sessions=stirred))
                self._over.wait(_SOON)

    def _listen(self, events: Subscription) -> None:
        try:
            for event in events:
                self._post(Happened(event))
                self._stirred.set()
        except DagentdError:
            self._stirred.set()  # the next look finds out, and says why

    def _do(self, act: Act) -> None:
        try:
            with Client(timeout=_LONG) as daemon:
                self._post(_done(daemon, act))
        except DagentdError as error:
            self._post(Noticed(f"{error}. {output.step(error.hint)}" if error.hint else str(error)))
        self._stirred.set()


def _done(daemon: Client, act: Act) -> News:
    root, worktree, session = act.row.key
    whose = {"sessionId": session, "project": root, "worktree": worktree}
    if act.what == "show":
        return Shown(_lines(daemon, whose))
    done = daemon.call(_METHODS[act.what], **whose)
    if act.what == "compact" and not done["messagesCompacted"]:
        return Noticed(f"Nothing in the chat of {session} can be compacted.")
    if act.what == "compact":
        left, less = output.counted(done["messagesCompacted"], "message"), output.tokens(done["tokensReclaimed"])
        return Noticed(f"{left} left the chat of {session}: {less} less. u brings them back.")
    if act.what == "undo":
        return Noticed(f"{output.counted(done['messagesRestored'], 'message')} back in the chat of {session}.")
    return Noticed(f"{session} is archived; a message makes it active again.")


def _lines(daemon: Client, whose: dict[str, Any]) -> tuple[str, ...]:
    """A session: what its checkpoint says, and the end of its chat."""
    checkpoint = daemon.call("session.getCheckpoint", **whose) or {}
    messages = daemon.call("session.getMessages", **whose, limit=20)
    lines = [f"{whose['sessionId']}, {output.counted(messages['total'], 'message')} in chat", ""]
    lines += [f"  {item.list}: {line(item.entry)}" for item in items_of(checkpoint)]
    for message in messages["messages"]:
        said = conversation.text(message.get("content")).strip().splitlines()
        lines += ["", f"{message.get('role')}  {output.ago(message.get('timestamp'))}", *(f"  {each}" for each in said)]
    return tuple(lines)
