"""What was said: a session's user-facing messages as a transcript, and as turns for the Messages API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal, TypedDict

from dagentd.model.documents import Message
from dagentd.model.rendering import closing, fenced, json_text, moment, opening, section

_ABOUT = "The conversation so far, oldest first. The message to answer is not among these: it follows."
# The API wants a user's turn first. Dropping what the assistant said would lose it; inventing a request
# would be obeyed. This sentence asks for nothing and never changes.
_ASSISTANT_FIRST = "[This record of the conversation begins with an assistant message.]"
_NOT_TEXT = ("image", "document")
_NOT_SAID = ("thinking", "redacted_thinking")


class Turn(TypedDict):
    role: Literal["user", "assistant"]
    content: str


@dataclass(frozen=True)
class Said:
    role: str
    at: str
    text: str


def said(messages: Iterable[Message]) -> list[Said]:
    """Internal messages are not part of a request, and an empty one says nothing (the API refuses it)."""
    shown = (Said(_role(m.role), moment(m.timestamp), text(m.content)) for m in messages if not m.internal)
    return [one for one in shown if one.text.strip()]


def recent(everything: list[Said], user_message: str, limit: int) -> list[Said]:
    """The last `limit` (0: all) before `user_message`. Clients add a message and then ask for the request
    with the same text: it is not sent twice, nor for a final newline that standard input gave it."""
    last = everything[-1] if everything else None
    repeated = last is not None and last.role == "user" and last.text.strip() == user_message.strip()
    before = everything[:-1] if repeated else everything
    return before[-limit:] if limit > 0 else before


def transcript(shown: Sequence[Said]) -> tuple[str, ...]:
    """One piece per message between a first and a last: a caller can count each message once and keep the
    number. Ids stay out: a UUID is some 20 tokens and tells a model nothing."""
    if not shown:
        return ()
    return (f"{opening('conversation')}\n{_ABOUT}", *map(_piece, shown), closing("conversation"))


def piece(raw: Mapping[str, Any]) -> str:
    """A message as it stands in the transcript, tags and all: of a chat with many short ones, they are half."""
    return _piece(Said(_role(raw.get("role")), moment(raw.get("timestamp")), text(raw.get("content"))))


def _piece(one: Said) -> str:
    return section("message", fenced(one.text), role=one.role, at=one.at)


def turns(shown: Sequence[Said], user_message: str) -> list[Turn]:
    """User and assistant in alternation, beginning with the user; `user_message` is last."""
    sides = [(_side(one.role), _labelled(one)) for one in shown]
    if sides and sides[0][0] == "assistant":
        sides.insert(0, ("user", _ASSISTANT_FIRST))
    if user_message.strip():
        sides.append(("user", user_message))
    grouped = groupby(sides, key=lambda pair: pair[0])
    return [Turn(role=side, content="\n\n".join(words for _, words in pairs)) for side, pairs in grouped]


def text(content: Any) -> str:
    """A message's content in words: blocks of the Messages API one below the other."""
    try:
        return _words(content)
    except RecursionError:
        return "[a value that cannot be shown]"


def _words(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, map(_words, content)))
    if isinstance(content, dict):
        return _block(content)
    return "" if content is None else json_text(content)


def _block(block: dict[str, Any]) -> str:
    kind = block.get("type")
    if kind == "text" and isinstance(block.get("text"), str):
        return str(block["text"])
    if kind == "tool_use":
        return f"{_mark('tool call', block, 'id', 'name')} {json_text(block.get('input'))}"
    if kind == "tool_result":
        outcome = "tool error" if block.get("is_error") is True else "tool result"
        return f"{_mark(outcome, block, 'tool_use_id')} {_words(block.get('content'))}"
    if kind in _NOT_TEXT:
        return f"[{kind}]"
    return "" if kind in _NOT_SAID else json_text(block)


def _mark(what: str, block: dict[str, Any], *keys: str) -> str:
    return f"[{' '.join([what, *(block[key] for key in keys if isinstance(block.get(key), str))])}]"


def _role(role: Any) -> str:
    return (" ".join(role.split()) if isinstance(role, str) else "") or "unknown"


def _side(role: str) -> Literal["user", "assistant"]:
    """Only what the assistant said is its own turn: a system notice or a tool's output in chat was told to
    it, and must not read as its own words. It is no system prompt either, whoever wrote it into the file."""
    return "assistant" if role == "assistant" else "user"


def _labelled(one: Said) -> str:
    return one.text if one.role in ("user", "assistant") else f"[{one.role}] {one.text}"
