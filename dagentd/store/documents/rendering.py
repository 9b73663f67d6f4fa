"""The bytes of a session's projections, made from its state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dagentd.formats.memory_document import with_checkpoint
from dagentd.model import jsontext
from dagentd.model.project import SessionFolder
from dagentd.store.journal.entries import Entry
from dagentd.store.journal.state import State, Totals

_HEAD, _BETWEEN, _END = b'{\n  "messages": [\n    ', b",\n    ", b"\n  ]"
_LINES_AT_ONCE = 512  # joined at a time, so that a chat of 50 MB does not hold the interpreter for long
_CHAT_FIELDS = ("messages", "totalMessages", "oldestMessageTimestamp", "newestMessageTimestamp", "dagentd")


def document(name: str, state: State, folder: SessionFolder, extra: dict[str, Any], memory: bool) -> Iterator[bytes]:
    """All of it is of this moment, position and content, whenever it is written. A chat has each message on a line of
    its own, in the very bytes that are in the journal. `extra` is what others keep in the file beside what is ours."""
    if name != "chat":
        return iter([jsontext.pretty(_other(name, state, folder, extra, memory))])
    entries = state.entries.ordered()
    tail = b"," + jsontext.pretty(_chat_rest(state, entries, extra))[1:]
    return _chat_chunks([entry.line or b"" for entry in entries], tail)


def lines_of(data: bytes) -> list[bytes]:
    """The message lines of a chat in exactly this form. No line holds a line break, so the first bracket on a line
    of its own ends them."""
    end = data.find(_END)
    return data[len(_HEAD) : end].split(_BETWEEN) if end >= 0 else []


def shows(data: bytes, lines: list[bytes]) -> bool:
    """Whether a chat in this form has these lines in this order, whatever stands between them. Mostly that is nothing,
    so that this is one comparison of the bytes where they are."""
    at = len(_HEAD)
    for line in lines:
        while not data.startswith(line, at):
            at = data.find(b"\n", at) + len(_BETWEEN) - 1
            if at < len(_HEAD):
                return False
        at += len(line) + len(_BETWEEN)
    return data.startswith(_HEAD)


def extra_of(data: bytes) -> dict[str, Any]:
    """The fields that stand behind the messages of a chat in exactly this form."""
    end = data.find(_END)
    rest: dict[str, Any] = jsontext.decode_own(b"{" + data[data.index(b"]", max(end, 0)) + 2 :])
    return rest


def _chat_chunks(lines: list[bytes], tail: bytes) -> Iterator[bytes]:
    yield _HEAD if lines else _HEAD.rstrip()
    for start in range(0, len(lines), _LINES_AT_ONCE):
        yield (_BETWEEN if start else b"") + _BETWEEN.join(lines[start : start + _LINES_AT_ONCE])
    yield (_END if lines else b"]") + tail


def _chat_rest(state: State, entries: list[Entry], extra: dict[str, Any]) -> dict[str, Any]:
    stamps = [jsontext.decode_own(entry.stamp.encode()) for entry in (entries[:1] + entries[-1:])]
    return {
        "totalMessages": state.totals.messages,
        "oldestMessageTimestamp": stamps[0] if stamps else None,
        "newestMessageTimestamp": stamps[-1] if stamps else None,
        **{key: value for key, value in extra.items() if key not in _CHAT_FIELDS},
        "dagentd": position(state),
    }


def _other(name: str, state: State, folder: SessionFolder, extra: dict[str, Any], memory: bool) -> dict[str, Any]:
    if name == "session":
        return session_document(state, folder, extra, memory)
    shown = state.checkpoint or {}
    return {**(with_checkpoint(extra, shown) if name == "memory" else shown), "dagentd": position(state)}


def session_document(state: State, folder: SessionFolder, extra: dict[str, Any], memory: bool) -> dict[str, Any]:
    known = {**state.session, "updatedAt": state.last_at}
    return session_of(known, state.totals, position(state), len(state.entries.chat), folder, extra, memory)


def session_of(
    known: dict[str, Any], totals: Totals, place: dict[str, Any], in_chat: int, folder: SessionFolder,
    extra: dict[str, Any], memory: bool,
) -> dict[str, Any]:  # fmt: skip
    """With the name of a `memory` where there is one: the newest app fails on a session without. And with the counts
    for a list, which reads no chat: what is in it, and what was ever said."""
    stats = extra["stats"] if isinstance(extra.get("stats"), dict) else {}
    files = extra["files"] if isinstance(extra.get("files"), dict) else {}
    return {
        **known,
        "files": {
            **files,
            **{key: folder.document(name).name for key, name in _FILE_KEYS.items()},
            **({"memory": folder.conventional("memory").name} if memory else {}),
        },
        "stats": {
            **stats,
            "totalMessages": totals.messages,
            "totalTokens": totals.tokens,
            "totalCompactions": totals.compactions,
            **({"lastCompactionAt": totals.compacted_at} if totals.compacted_at else {}),
        },
        "dagentd": {**place, "inChat": in_chat, "total": totals.messages + totals.cleared},
    }


def says_the_same(name: str, raw: dict[str, Any], state: State, folder: SessionFolder, memory: bool) -> bool:
    """Whether a document that others wrote says what ours would, however it is laid out and whatever its position."""
    if name != "chat":
        return _content(raw) == _content(_other(name, state, folder, raw, memory))
    entries = state.entries.ordered()
    if [jsontext.encode(message) for message in raw["messages"]] != [entry.line for entry in entries]:
        return False
    return _content(raw) == _content(_chat_rest(state, entries, raw))


def _content(document: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key not in ("dagentd", "messages")}


def holds_more(name: str, extra: dict[str, Any]) -> bool:
    """Whether a document holds what the journal does not: a power failure must not take that."""
    if name == "chat":
        return not extra.keys() <= {*_CHAT_FIELDS}
    if name == "session":
        stats = extra.get("stats")
        return isinstance(stats, dict) and not stats.keys() <= {*_STATS}
    return name == "memory"


_STATS = ("totalMessages", "totalTokens", "totalCompactions", "lastCompactionAt")
_FILE_KEYS = {
    "chat": "chat", "checkpoint": "checkpoint", "context": "context", "agentDescription": "agent-description",
}  # fmt: skip


def position(state: State) -> dict[str, Any]:
    return {"pos": state.pos, "sum": state.sum}
