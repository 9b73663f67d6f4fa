"""Messages of a conversation: words as Markdown, tool calls folded, code in monospace."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from dagentd.model import conversation, figures
from dagentd.web.history import Slice
from dagentd.web.html import Child, Html, fragment, h, name
from dagentd.web.pages.overview import session_link
from dagentd.web.parts import act, badge, exactly
from dagentd.web.text import clean, markdown

Raw = dict[str, Any]
_LONG = 30_000  # characters of a message that are shown where it stands
_PLAIN = 100_000  # and from which on it is not read as Markdown
_LINE = 120
_TELLING = ("command", "file_path", "path", "pattern", "query", "url", "description", "prompt")


def conversation_part(session: Raw, found: Slice, pinned: set[str], moves: dict[str, Raw]) -> Html:
    """A page of it, with the ways to those before and after. `moves` are compactions by the last message that left."""
    parts: list[Child] = []
    if found.earlier and found.messages:
        parts.append(_way("Earlier messages", session, "before", found.messages[0]["id"]))
    for each in found.messages:
        parts.append(message(session, each, each["id"] in pinned, target=each["id"] == found.target))
        if each["id"] in moves:
            parts.append(_compaction(session, moves[each["id"]]))
    if found.later and found.messages:
        parts.append(_way("Later messages", session, "after", found.messages[-1]["id"]))
    return fragment(parts)


def _way(label: str, session: Raw, direction: str, message_id: str) -> Html:
    """By a link; the page follows it by itself when it is scrolled there."""
    more = session_link(session, "messages", **{direction: message_id})
    alone = session_link(session, "session", **{direction: message_id})
    return h.p(h.a(label, href=alone, data_more=more), class_=f"way {direction}")


def message(session: Raw, raw: Raw, pinned: bool = False, target: bool = False, whole: bool = False) -> Html:
    role = str(raw.get("role") or "unknown")
    internal = conversation.is_internal(raw)
    metadata = raw.get("metadata") if isinstance(raw.get("metadata"), dict) else {}
    given = {
        "sessionId": session["id"],
        "project": session.get("project"),
        "worktree": session.get("worktree"),
        "messageId": raw["id"],
        "pinned": not pinned,
    }
    head = h.header(
        h.span(name(role), class_="role"),
        h.span(name(metadata["model"]), class_="note") if metadata and metadata.get("model") else None,
        badge("internal") if internal else None,
        badge("pinned", "near") if pinned else None,
        h.a(exactly(raw.get("timestamp")) or "here", href=session_link(session, at=raw["id"]), class_="note at"),
        act("Unpin" if pinned else "Pin", "pin", given, kind="quiet"),
    )
    kind = role if role in ("user", "assistant", "system") else "other"
    body = h.div(list(_body(session, raw, whole)), class_="said")
    return h.article(
        head,
        body,
        class_=f"message {kind}{' target' if target else ''}",
        id="target" if target else None,
        data_id=raw["id"],
        data_row=True,
        tabindex="-1",
    )


def _body(session: Raw, raw: Raw, whole: bool) -> Iterator[Html]:
    """Blocks as they came where they are known, else the text, and the tool calls beside it."""
    metadata = raw.get("metadata") if isinstance(raw.get("metadata"), dict) else {}
    blocks = metadata.get("content") if metadata else None
    for block in blocks if isinstance(blocks, list) else [conversation.text(raw.get("content"))]:
        yield from _block(session, raw, block, whole)
    uses = metadata.get("toolUse") if metadata else None
    for use in uses if isinstance(uses, list) else []:
        yield _tool(use)


def _block(session: Raw, raw: Raw, block: Any, whole: bool) -> Iterator[Html]:
    kind = block.get("type") if isinstance(block, dict) else "text"
    if kind == "tool_use":
        yield _tool(block)
    elif kind == "tool_result":
        told = conversation.text(block.get("content"))
        yield _folded("error" if block.get("is_error") is True else "result", _first_line(told), told)
    elif kind == "thinking":
        told = str(block.get("thinking") or "")
        yield _folded("thinking", _first_line(told), told)
    else:
        told = block if isinstance(block, str) else conversation.text(block)
        yield from _words(session, raw, told, whole)


def _words(session: Raw, raw: Raw, told: str, whole: bool) -> Iterator[Html]:
    shown = told if whole else told[:_LONG]
    if len(shown) > _PLAIN:
        yield h.pre(clean(shown), tabindex="0")
    elif shown.strip():
        yield h.div(markdown(shown), class_="markdown")
    if len(shown) < len(told):
        all_of_it = session_link(session, "message", message=raw["id"])
        yield h.p(h.a(f"All {len(told):,} characters", href=all_of_it))


def _tool(use: Any) -> Html:
    """A call with what it answered."""
    if not isinstance(use, dict):
        return h.pre(clean(str(use)))
    asked, answered = use.get("input"), use.get("result")
    failed = use.get("isError") is True or use.get("is_error") is True
    told = asked if isinstance(asked, str) else json.dumps(asked, indent=2, ensure_ascii=False, default=str)
    parts: list[Child] = [_pre(told)] if asked not in (None, {}, "") else []
    if answered is not None:
        text = conversation.text(answered)
        parts += [h.p("error" if failed else "answer", class_="note"), _pre(text)]
    return _fold(str(use.get("name") or "tool"), _telling(asked), parts, failed)


def _folded(kind: str, line: str, told: str) -> Html:
    return _fold(kind, line, [_pre(told)], kind == "error")


def _fold(kind: str, line: str, parts: list[Child], failed: bool) -> Html:
    summary = h.summary(h.span(name(kind), class_="tool-name"), h.span(name(line), class_="tool-line"))
    return h.details(summary, parts, class_="tool failed" if failed else "tool")


def _pre(text: str) -> Html:
    """Tools print megabytes."""
    left = len(text) - _LONG
    return h.pre(clean(text[:_LONG]), f"\n… and {figures.size(left)} more" if left > 0 else None, tabindex="0")


def _telling(asked: Any) -> str:
    if not isinstance(asked, dict):
        return _first_line(str(asked or ""))
    found = next((asked[key] for key in _TELLING if isinstance(asked.get(key), str)), None)
    return _first_line(found if found is not None else json.dumps(asked, ensure_ascii=False, default=str))


def _first_line(text: str) -> str:
    line = next((each.strip() for each in text[:2000].splitlines() if each.strip()), "")
    return line if len(line) <= _LINE else f"{line[: _LINE - 1]}…"


def _compaction(session: Raw, move: Raw) -> Html:
    told = f"Compacted: {figures.counted(move['messages'], 'message')} up to here left the chat"
    link = h.a("what came of it", href=session_link(session, "compactions"))
    return h.p(told, " ", exactly(move["at"]), " · ", link, class_="divider")
