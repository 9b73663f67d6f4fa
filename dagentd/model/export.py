"""A whole session as a Markdown document, in which the text of others stays in its place."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dagentd.model.compaction.evidence import ToolUse
from dagentd.model.compaction.items import DECISIONS_FIRST, in_words, items_of, record_of
from dagentd.model.compaction.turns import Turn, turn
from dagentd.model.documents import version_of
from dagentd.model.prompt_text import json_text, moment

# Text of others in a Markdown document of ours: whatever it says, it stays in its place.

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})[ \t]*(.*)")
_LANGUAGE = re.compile(r"[A-Za-z0-9+#._-]{1,30}")
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#!|~&])")
# What could begin a tag, a comment or an autolink; and what would be read as a character's name.
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_NAMED = re.compile(r"&(?=#?[A-Za-z0-9]+;)")
_RUNS = re.compile(r"`+")


def inline(text: str) -> str:
    """On one line and with no meaning of its own, for a heading or a sentence."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def code(text: str) -> str:
    """A name or a path, within a line."""
    flat = " ".join(text.split())
    ticks = "`" * (_longest(flat) + 1)
    space = " " if flat.startswith("`") or flat.endswith("`") or not flat else ""
    return f"{ticks}{space}{flat}{space}{ticks}"


def item(text: str) -> str:
    """An entry of a list, as Markdown of somebody else's, on one line."""
    return f"- {_harmless(' '.join(text.split()))}"


def block(text: str, language: str = "") -> str:
    """As it is, between fences that are longer than any in it."""
    ticks = "`" * max(3, _longest(text) + 1)
    return f"{ticks}{language}\n{_unix(text)}\n{ticks}"


def folded(title: str, body: str) -> str:
    """Shown when it is asked for. The title is plain text, the body Markdown of ours."""
    head = html.escape(" ".join(title.split()), quote=False)
    return f"<details><summary>{head}</summary>\n\n{body}\n\n</details>"


def quoted(text: str) -> str:
    """Markdown of somebody else's: prose as a quotation, which it cannot end because we begin each line; its blocks of
    code between them, as blocks of ours. HTML of its own is text."""
    return "\n\n".join(_quote(said) if language is None else block(said, language) for language, said in _parts(text))


def _parts(text: str) -> Iterator[tuple[str | None, str]]:
    """Prose (None) and blocks of code (their language) in turn. Only fences at the left margin count: where a program
    that shows the document sees others, they are in a quotation and end with it."""
    held: list[str] = []
    fence, language = "", ""
    for line in _unix(text).split("\n"):
        found = _FENCE.fullmatch(line)
        if fence and found and found[1].startswith(fence) and not found[2]:
            yield language, "\n".join(held)
            held, fence = [], ""
        elif not fence and found:
            yield from _prose(held)
            held, fence, language = [], found[1], _language(found[2])
        else:
            held.append(line)
    if fence:
        yield language, "\n".join(held)
    else:
        yield from _prose(held)


def _prose(lines: list[str]) -> Iterator[tuple[None, str]]:
    if (said := "\n".join(lines).strip("\n")).strip():
        yield None, said


def _language(info: str) -> str:
    found = _LANGUAGE.match(info)
    return found[0] if found else ""


def _quote(text: str) -> str:
    """A line break stays one: two blanks at the end say so."""
    lines = [_harmless(line.rstrip()) for line in text.split("\n")]
    following = [*lines[1:], ""]
    return "\n".join(
        f"> {line}  " if line and after else f"> {line}".rstrip() for line, after in zip(lines, following, strict=True)
    )


def _harmless(text: str) -> str:
    return _TAG.sub("&lt;", _NAMED.sub("&amp;", text))


def _unix(text: str) -> str:
    """With one kind of line end."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _longest(text: str) -> int:
    return max((len(run) for run in _RUNS.findall(text)), default=0)


# A whole session as a Markdown document: its state, its checkpoint, and all that was ever said, in order.

Raw = Mapping[str, Any]

_FACTS = {
    "status": "Status", "agentType": "Agent", "featureId": "Feature", "taskId": "Task",
    "taskState": "State of the task", "project": "Project", "worktree": "Worktree",
}  # fmt: skip
_WHY = {
    "compacted": "Compacted", "cleared": "Cleared", "external": "Removed by another program",
    "rollback": "Taken back with a migration",
}  # fmt: skip


def as_markdown(export: Raw) -> str:
    """Of what `dagentd export --json` gives."""
    session = export["session"]
    parts = [f"# {inline(str(session.get('id')))}", *_state(export)]
    parts += _checkpoint(export["checkpoint"] or {})
    parts += ["## Conversation", *_conversation(export)]
    return "\n\n".join(parts) + "\n"


def _state(export: Raw) -> Iterator[str]:
    session = export["session"]
    facts = [f"- {title}: {code(value)}" for key, title in _FACTS.items() if (value := _text(session, key))]
    if session.get("gone"):
        facts.append("- Its worktree is gone.")
    for key, title in (("createdAt", "Created"), ("updatedAt", "Last changed")):
        if at := _time(session.get(key)):
            facts.append(f"- {title}: {at}")
    total, shown = len(export["messages"]), len(export["inChat"])
    facts.append(f"- Messages: {total}, of which {shown} {'is' if shown == 1 else 'are'} in chat")
    yield "\n".join(facts)
    yield f"*Exported {_time(export['exportedAt'])}.*"


def _text(session: Raw, key: str) -> str:
    value = session.get(key)
    return value if isinstance(value, str) else ""


def _checkpoint(checkpoint: dict[str, Any]) -> Iterator[str]:
    items, record = items_of(checkpoint), record_of(checkpoint)
    if not items and not record.goal:
        return
    written = _time(checkpoint.get("updatedAt"))
    yield f"## Checkpoint\n\nVersion {version_of(checkpoint)}{f', {written}' if written else ''}."
    for title, text in (("Goal", record.goal), ("Next step", record.next)):
        if text:
            yield f"{title}: {inline(text)}"
    for name, title in DECISIONS_FIRST.items():
        listed = [each for each in items if each.list == name]
        if listed:
            lines = [item(f"{in_words(each)}{' (pinned)' if each.pinned else ''}") for each in listed]
            yield f"### {title}\n\n" + "\n".join(lines)
    if left := checkpoint.get("itemsLeft"):
        yield f"{left} earlier items are only in the history."


def _conversation(export: Raw) -> Iterator[str]:
    turns = [turn(raw) for raw in export["messages"]]
    order = {one.id: number for number, one in enumerate(turns)}
    names = {tool.id: tool.name for one in turns for tool in one.tools if tool.id and tool.name}
    marks = _marks(export["moves"], order)
    if not turns:
        yield "Nothing was said yet."
    for number, one in enumerate(turns):
        yield _message(one, names)
        yield from marks.get(number, ())


def _message(one: Turn, names: Mapping[str, str]) -> str:
    parts = [quoted(one.words), *(_tool(tool, names) for tool in one.tools)]
    body = "\n\n".join(filter(None, parts)) or "> (empty)"
    head = " · ".join(filter(None, (one.role.capitalize(), _time(one.at))))
    if one.internal:
        return folded(f"{head} · internal", body)
    return f"### {inline(head)}\n\n{body}"


def _tool(tool: ToolUse, names: Mapping[str, str]) -> str:
    """A call and its result may be in different messages."""
    name = tool.name or names.get(tool.id, "")
    outcome = "Tool error" if tool.failed else "Tool result"
    title = "Tool call" if tool.name else outcome
    parts = []
    if tool.input is not None:
        parts.append(block(json_text(tool.input), "json"))
    if tool.result or not parts:
        parts.append(block(tool.result))
    return folded(f"{title}: {name}" if name else title, "\n\n".join(parts))


def _marks(moves: Iterable[Raw], order: Mapping[str, int]) -> dict[int, list[str]]:
    """The notes on messages that left chat or came back, behind the last message of each move."""
    found: dict[int, list[str]] = {}
    for move in moves:
        places = [order[one] for one in move["messageIds"] if one in order]
        if places:
            found.setdefault(max(places), []).append(f"---\n\n*{_told(move, len(places))}*")
    return found


def _told(move: Raw, count: int) -> str:
    messages = "1 message above" if count == 1 else f"{count} messages above"
    at = f", {when}" if (when := _time(move["at"])) else ""
    if move["what"] == "back":
        return f"Brought back{at}: {messages} returned to chat."
    version = move.get("checkpointVersion")
    rest = "" if version is None else f"; what came of it is in version {version} of the checkpoint"
    return f"{_WHY.get(move.get('why', ''), 'Removed')}{at}: {messages} left chat{rest}."


def _time(value: Any) -> str:
    """`2026-11-16 15:03:22 UTC`."""
    at = moment(value)
    return f"{at[:10]} {at[11:19]} UTC" if at else ""
