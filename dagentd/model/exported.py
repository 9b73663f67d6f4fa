"""A whole session as a Markdown document: its state, its checkpoint, and all that was ever said, in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dagentd.model import markdown
from dagentd.model.compaction.evidence import ToolUse
from dagentd.model.compaction.items import DECISIONS_FIRST, in_words, items_of, record_of
from dagentd.model.compaction.turns import Turn, turn
from dagentd.model.documents import version_of
from dagentd.model.rendering import json_text, moment

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
    parts = [f"# {markdown.inline(str(session.get('id')))}", *_state(export)]
    parts += _checkpoint(export["checkpoint"] or {})
    parts += ["## Conversation", *_conversation(export)]
    return "\n\n".join(parts) + "\n"


def _state(export: Raw) -> Iterator[str]:
    session = export["session"]
    facts = [f"- {title}: {markdown.code(value)}" for key, title in _FACTS.items() if (value := _text(session, key))]
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
            yield f"{title}: {markdown.inline(text)}"
    for name, title in DECISIONS_FIRST.items():
        listed = [each for each in items if each.list == name]
        if listed:
            lines = [markdown.item(f"{in_words(each)}{' (pinned)' if each.pinned else ''}") for each in listed]
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
    parts = [markdown.quoted(one.words), *(_tool(tool, names) for tool in one.tools)]
    body = "\n\n".join(filter(None, parts)) or "> (empty)"
    head = " · ".join(filter(None, (one.role.capitalize(), _time(one.at))))
    if one.internal:
        return markdown.folded(f"{head} · internal", body)
    return f"### {markdown.inline(head)}\n\n{body}"


def _tool(tool: ToolUse, names: Mapping[str, str]) -> str:
    """A call and its result may be in different messages."""
    name = tool.name or names.get(tool.id, "")
    outcome = "Tool error" if tool.failed else "Tool result"
    title = "Tool call" if tool.name else outcome
    parts = []
    if tool.input is not None:
        parts.append(markdown.block(json_text(tool.input), "json"))
    if tool.result or not parts:
        parts.append(markdown.block(tool.result))
    return markdown.folded(f"{title}: {name}" if name else title, "\n\n".join(parts))


def _marks(moves: Iterable[Raw], order: Mapping[str, int]) -> dict[int, list[str]]:
    """What left chat or came back, behind the last message of it."""
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
