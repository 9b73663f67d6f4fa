"""Messages as compaction sees them: who said what, which tools were used on which files, which checks passed."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dagentd.model import conversation
from dagentd.model.compaction import evidence
from dagentd.model.compaction.evidence import Check, ToolUse
from dagentd.model.compaction.items import object_of
from dagentd.model.prompt_text import json_text, moment

_RESULT = re.compile(r"^(?:tool|function)(?:$|[-_ ]?(?:result|output|response|error|call_output))", re.IGNORECASE)


@dataclass(frozen=True)
class Turn:
    """`words` is what was said; what tools were given and gave back is in `tools`, and all of it is in `text`."""

    id: str
    role: str
    at: str
    words: str
    text: str
    internal: bool = False
    tools: tuple[ToolUse, ...] = ()
    checks: tuple[Check, ...] = ()
    iteration: int | None = None


def turn(raw: Mapping[str, Any]) -> Turn:
    metadata, role = object_of(raw.get("metadata")), raw.get("role")
    content = metadata.get("content") if isinstance(metadata.get("content"), list) else raw.get("content")
    content = [content] if isinstance(content, dict) else content  # blocks are kept beside the text they were made to
    words = conversation.text([*filter(_is_spoken, content)] if isinstance(content, list) else content)
    uses = [*evidence.told_uses(metadata.get("toolUse"))]
    tools = (*evidence.blocks(content), *uses)
    if role != "assistant" and _is_result(raw, metadata):
        role, tools, words = "tool", (*tools, ToolUse("", "", None, words, evidence.begins_with_error(words), ())), ""
    if role == "assistant":
        tools, words = (*tools, *evidence.marked(words)), evidence.unmarked(words)
    told = [f"[tool {use.name}] {json_text(use.input)} {use.result}" for use in uses]
    iteration = metadata.get("iteration")
    return Turn(
        id=str(raw.get("id", "")),
        role=role if isinstance(role, str) else "unknown",
        at=moment(raw.get("timestamp")),
        words=words,
        text="\n".join(filter(None, (conversation.text(content), *told))),
        internal=metadata.get("internal") is True,
        tools=tools,
        checks=tuple(evidence.checks(metadata.get("verificationResults"))),
        iteration=iteration if isinstance(iteration, int) and not isinstance(iteration, bool) else None,
    )


def _is_result(raw: Mapping[str, Any], metadata: Mapping[str, Any]) -> bool:
    """Whether it came in as a tool's result: it stays one, whatever role a migration gave it."""
    told = (raw.get("type"), *(metadata.get(key) for key in ("type", "originalType", "originalRole")))
    return any(isinstance(each, str) and _RESULT.search(each) for each in told)


def _is_spoken(block: Any) -> bool:
    return not (isinstance(block, dict) and block.get("type") in ("tool_use", "tool_result"))


# --- which of them leave chat in a compaction: all but what is pinned, what is recent and what is not finished --------


def leaving(turns: Sequence[Turn], sizes: Sequence[int], pinned: Collection[str], keep_recent: int) -> list[Turn]:
    """A tool call stays with its result: both leave or none does."""
    partners, waiting = _paired(turns)
    end = min(_recent_from(turns, sizes, keep_recent), _unfinished_from(turns, waiting))
    stay = _with_partners([at for at, turn in enumerate(turns) if at >= end or turn.id in pinned], partners)
    return [turn for at, turn in enumerate(turns) if at not in stay]


def _recent_from(turns: Sequence[Turn], sizes: Sequence[int], keep: int) -> int:
    """Where the last messages begin that together have at most `keep` tokens."""
    room, start = keep, len(turns)
    while start and (room := room - sizes[start - 1]) >= 0 and keep:
        start -= 1
    return start


def _paired(turns: Sequence[Turn]) -> tuple[dict[int, set[int]], set[int]]:
    """Which messages hold the two sides of a tool call, and which hold one that nobody answered. A result is of the
    call just before it: some models number their calls anew in each message."""
    partners, calls = dict[int, set[int]](), dict[str, int]()
    for at, turn in enumerate(turns):
        for tool in turn.tools:
            if tool.id and tool.failed is None:
                calls[tool.id] = at
            elif tool.id in calls:
                call = calls.pop(tool.id)
                partners.setdefault(call, set()).add(at)
                partners.setdefault(at, set()).add(call)
    return partners, set(calls.values())


def _unfinished_from(turns: Sequence[Turn], waiting: Collection[int]) -> int:
    """Where the first call stands whose result is still to come: none comes once something was said after it."""
    start = len(turns)
    for at in range(len(turns) - 1, -1, -1):
        if at in waiting:
            start = at
        if turns[at].words.strip():
            break
    return start


def _with_partners(kept: Sequence[int], partners: Mapping[int, Collection[int]]) -> set[int]:
    """One message may hold several calls, whose results then stay too, and so on."""
    found, more = set(kept), list(kept)
    while more:
        more = [one for at in more for one in partners.get(at, ()) if one not in found]
        found.update(more)
    return found
