"""The conversation for a model: a session's user-facing messages as a transcript, or turns for the Messages API."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal, TypedDict

from dagentd.model.jsontext import escaped
from dagentd.model.prompt_text import fenced, json_text, moment, opening, section

_ABOUT = "The conversation so far, oldest first. The message to answer is not among these: it follows."
# The API wants a user's turn first. Dropping what the assistant said would lose it; inventing a request
# would be obeyed. This sentence asks for nothing and never changes.
_ASSISTANT_FIRST = "[This record of the conversation begins with an assistant message.]"
_ABOUT_NOTICES = "System messages of the conversation, oldest first."
_BEGIN, _CLOSING, _END = f"{opening('conversation')}\n{_ABOUT}", "</session-message>", "</session-conversation>"
_BETWEEN = escaped("\n\n")
_NOT_TEXT = ("image", "document")
_SYSTEM = "system"
_NOT_SAID = ("thinking", "redacted_thinking")


class Turn(TypedDict):
    role: Literal["user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Said:
    """A message as it stands in requests, made once in its life. `words` are its text, in which nothing passes for a
    tag of ours: nearly always the very same. `tokens` are those of `piece`, where they are known."""

    role: str
    text: str
    opening: str
    words: str
    tokens: int | None
    escaped: tuple[str, str, str]  # text, opening and words, as they stand in JSON: most requests are sent

    @property
    def piece(self) -> str:
        """As it stands in the transcript, tags and all: of a chat with many short ones, they are half."""
        return "\n".join((self.opening, self.words, _CLOSING)) if self.words else ""


def message(raw: Mapping[str, Any], tokens: int | None = None) -> Said:
    role, told = raw.get("role"), text(raw.get("content"))
    role = (" ".join(role.split()) if isinstance(role, str) else "") or "unknown"
    begin, words = opening("message", role=role, at=moment(raw.get("timestamp"))), fenced(told)
    written = escaped(told)
    in_json = written, escaped(begin), written if words == told else escaped(words)
    return Said(role, told, begin, words, tokens, in_json)


def said(raw: Mapping[str, Any], tokens: int | None = None) -> Said | None:
    """None for what no request has: internal messages, and an empty one, which says nothing (the API refuses it)."""
    if is_internal(raw):
        return None
    found = message(raw, tokens)
    return found if found.text.strip() else None


def is_internal(raw: Mapping[str, Any]) -> bool:
    metadata = raw.get("metadata")
    return isinstance(metadata, dict) and metadata.get("internal") is True


def recent(everything: list[Said], user_message: str, limit: int) -> list[Said]:
    """The last `limit` (0: all) before `user_message`. Clients add a message and then ask for the request
    with the same text: it is not sent twice, nor for a final newline that standard input gave it."""
    last = everything[-1] if everything else None
    repeated = last is not None and last.role == "user" and last.text.strip() == user_message.strip()
    before = everything[:-1] if repeated else everything
    return before[-limit:] if limit > 0 else before


def transcript(shown: Sequence[Said]) -> str:
    """Ids stay out: a UUID is some 20 tokens and tells a model nothing."""
    if not shown:
        return ""
    pieces = chain.from_iterable((one.opening, one.words, _CLOSING) for one in shown)
    return "\n".join((_BEGIN, *pieces, _END))


def transcript_json(shown: Sequence[Said]) -> str:
    """The same, escaped: joined of what was escaped once."""
    if not shown:
        return ""
    pieces = chain.from_iterable((one.escaped[1], one.escaped[2], _CLOSING) for one in shown)
    return r"\n".join((escaped(_BEGIN), *pieces, escaped(_END)))


def transcript_tokens(shown: Sequence[Said], count: Callable[[str], int]) -> int:
    """A sum of what is known of each message: a long one is not counted again because another came."""
    return in_transcript(sum(count(one.piece) if one.tokens is None else one.tokens for one in shown), count)


def in_transcript(messages: int, count: Callable[[str], int]) -> int:
    """The size of messages with what stands around them."""
    return messages and count(_BEGIN) + messages + count(_END)


def notices(shown: Sequence[Said]) -> str:
    """The system's messages, which `turns` leaves out."""
    found = [one.piece for one in shown if one.role == _SYSTEM]
    return section("notices", _ABOUT_NOTICES, *found) if found else ""


def turns(shown: Sequence[Said], user_message: str) -> list[Turn]:
    """User and assistant in alternation, beginning with the user; `user_message` is last. What the system said is
    neither's: see `notices`."""
    said = [(one.role, _label(one.role) + one.text) for one in shown if one.role != _SYSTEM]
    return [Turn(role=side, content="\n\n".join(words)) for side, words in _sides(said, user_message)]


def turns_json(shown: Sequence[Said], user_message: str) -> str:
    """The same as JSON. Joined at once: a large text costs most where it is copied."""
    labels = {role: escaped(_label(role)) for role in {one.role for one in shown}}
    said = [(one.role, labels[one.role] + one.escaped[0]) for one in shown if one.role != _SYSTEM]
    pieces: list[str] = []
    for side, words in _sides(said, escaped(user_message) if user_message.strip() else ""):
        pieces += (", " if pieces else "", f'{{"role": "{side}", "content": "')
        pieces += [piece for word in words for piece in (word, _BETWEEN)][:-1]
        pieces.append('"}')
    return "".join(("[", *pieces, "]"))


def _sides(said: list[tuple[str, str]], user_message: str) -> list[tuple[Literal["user", "assistant"], list[str]]]:
    """The words of each side until the other speaks, in order. Only what the assistant said is its own turn: a tool's
    output in chat was told to it, and must not read as its own words."""
    sides: list[tuple[Literal["user", "assistant"], list[str]]] = []
    if said and said[0][0] == "assistant":
        sides.append(("user", [_ASSISTANT_FIRST]))
    for role, words in chain(said, [("user", user_message)] if user_message.strip() else []):
        side: Literal["user", "assistant"] = "assistant" if role == "assistant" else "user"
        if not sides or sides[-1][0] != side:
            sides.append((side, []))
        sides[-1][1].append(words)
    return sides


def with_text(raw: dict[str, Any]) -> dict[str, Any]:
    """The message with a text for its content, which is all that the app can show; what was no text is kept in its
    metadata."""
    content, metadata = raw.get("content", ""), raw.get("metadata")
    if isinstance(content, str):
        return raw
    held = metadata if isinstance(metadata, dict) else {} if metadata is None else {"originalMetadata": metadata}
    return {**raw, "content": text(content), "metadata": {**held, "content": content}}


def text(content: Any) -> str:
    """A message's content in words: blocks of the Messages API one below the other."""
    if isinstance(content, str):  # nearly always
        return content
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


def _label(role: str) -> str:
    return "" if role in ("user", "assistant") else f"[{role}] "
