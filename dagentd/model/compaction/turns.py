"""Messages as compaction sees them: who said what, which tools were used on which files, which checks passed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dagentd.model import conversation
from dagentd.model.compaction.evidence import Check, ToolUse, begins_with_error, blocks, checks, told_uses
from dagentd.model.compaction.marks import marked, unmarked
from dagentd.model.rendering import json_text, moment

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

    def named(self) -> Turn:
        """Who said it and when, without what."""
        return Turn(self.id, self.role, self.at, "", "")


def turn(raw: Mapping[str, Any]) -> Turn:
    metadata = raw["metadata"] if isinstance(raw.get("metadata"), dict) else {}
    content, role = _content(raw, metadata), raw.get("role")
    words = conversation.text(_spoken(content))
    tools = (*blocks(content), *told_uses(metadata.get("toolUse")))
    if role != "assistant" and _is_result(metadata):
        role, tools, words = "tool", (*tools, ToolUse("", "", None, words, begins_with_error(words), ())), ""
    if role == "assistant":
        tools, words = (*tools, *marked(words)), unmarked(words)
    told = [f"[tool {tool.name}] {json_text(tool.input)} {tool.result}" for tool in told_uses(metadata.get("toolUse"))]
    iteration = metadata.get("iteration")
    return Turn(
        id=str(raw.get("id", "")),
        role=role if isinstance(role, str) else "unknown",
        at=moment(raw.get("timestamp")),
        words=words,
        text="\n".join(filter(None, (conversation.text(content), *told))),
        internal=metadata.get("internal") is True,
        tools=tools,
        checks=tuple(checks(metadata.get("verificationResults"))),
        iteration=iteration if isinstance(iteration, int) and not isinstance(iteration, bool) else None,
    )


def _content(raw: Mapping[str, Any], metadata: Mapping[str, Any]) -> Any:
    """Blocks are kept beside the text that they were made to."""
    held = metadata.get("content") if isinstance(metadata.get("content"), list) else raw.get("content")
    return [held] if isinstance(held, dict) else held


def _is_result(metadata: Mapping[str, Any]) -> bool:
    """What came in as a tool's result stays one, whatever role a migration gave it."""
    told = (metadata.get(key) for key in ("originalType", "originalRole"))
    return any(isinstance(each, str) and _RESULT.search(each) for each in told)


def _spoken(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    return [one for one in content if not (isinstance(one, dict) and one.get("type") in ("tool_use", "tool_result"))]
