"""The changes that the page may make: only those that can be undone, each by one method of the table."""

from __future__ import annotations

from typing import Any

from dagentd.errors import InvalidInput
from dagentd.model import figures
from dagentd.web.html import h
from dagentd.web.link import Link
from dagentd.web.pages.compactions import changes

Raw = dict[str, Any]
_OF_SESSION = ("sessionId", "project", "worktree")
_VERBS = {
    "preview": ("session.previewCompaction", _OF_SESSION),
    "compact": ("session.forceCompact", (*_OF_SESSION, "proposalId")),
    "undo": ("session.undoCompaction", _OF_SESSION),
    "pin": ("session.pin", (*_OF_SESSION, "itemId", "messageId", "pinned")),
    "archive": ("session.archive", _OF_SESSION),
    "pause": ("session.pause", ("sessionId", "project")),
    "resume": ("session.resume", ("sessionId", "project")),
    "pause-project": ("project.pause", ("project",)),
    "resume-project": ("project.resume", ("project",)),
    "remember": ("memory.add", ("project", "text", "featureId")),
    "confirm": ("memory.add", ("project", "confirms")),
    "withdraw": ("memory.withdraw", ("project", "id")),
    "unarchive": ("session.archive", _OF_SESSION),
}
_MEANT: dict[str, Raw] = {  # whoever is at the page is the user
    "remember": {"by": "user"}, "confirm": {"by": "user"}, "withdraw": {"by": "user"}, "unarchive": {"archived": False},
}  # fmt: skip


def do(link: Link, asked: Any) -> Raw:
    """`told` is a sentence, `dialog` HTML that asks before something is done."""
    verb, given = (asked.get("verb"), asked.get("given")) if isinstance(asked, dict) else (None, None)
    if not isinstance(verb, str) or verb not in _VERBS or not isinstance(given, dict):
        raise InvalidInput("the page asked for what it may not do", hint="Load the page again.")
    method, allowed = _VERBS[verb]
    params = {key: given[key] for key in allowed if given.get(key) is not None}
    done = link.call(method, **params, **_MEANT.get(verb, {}))
    return _previewed(done, params) if verb == "preview" else {"told": _told(verb, done, params)}


def _previewed(found: Raw, params: Raw) -> Raw:
    if not found.get("proposalId"):
        return {"told": "Nothing in its chat can be compacted now."}
    if found["tokensAfter"] >= found["tokensBefore"]:
        return {"told": "Nothing is gained by that now: the checkpoint would be no shorter than the messages."}
    left = figures.counted(len(found["messages"]), "message")
    sizes = f"{figures.tokens(found['tokensBefore'])} become {figures.tokens(found['tokensAfter'])}"
    body = h.div(
        h.h2("Compact this session?"),
        h.p(f"{left} would leave the chat; {sizes}. They stay in the history, and it can be undone."),
        h.p(found["note"], class_="alert") if found.get("note") else None,
        changes(found),
    )
    return {"dialog": body.text, "verb": "compact", "given": {**params, "proposalId": found["proposalId"]}}


def _told(verb: str, done: Any, params: Raw) -> str:
    if verb == "compact":
        left = figures.counted(done["messagesCompacted"], "message")
        return f"{left} left the chat: {figures.tokens(done['tokensReclaimed'])} less. It can be undone."
    if verb == "undo":
        return f"{figures.counted(done['messagesRestored'], 'message')} back in the chat."
    if verb == "pin":
        return "Pinned: it stays." if params.get("pinned", True) else "Not pinned any more."
    if verb in ("remember", "confirm", "withdraw"):
        return f"{'Withdrawn' if verb == 'withdraw' else 'Remembered'}: {done['text']}"
    return {
        "archive": "Archived; it can still be read, and a message makes it active again.",
        "unarchive": "Active again.",
        "pause": "Paused: dagentd does nothing by itself for it.",
        "resume": "Resumed; what is due is done now.",
        "pause-project": "Paused: dagentd does nothing by itself for the project.",
        "resume-project": "Resumed; what is due is done now.",
    }[verb]
