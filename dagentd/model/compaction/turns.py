"""Messages as compaction sees them: who said what, which tools were used on which files, which checks passed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dagentd.model import conversation
from dagentd.model.compaction.evidence import Check, ToolUse, blocks, checks, told_uses
from dagentd.model.rendering import json_text, moment


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
    content, role = raw.get("content"), raw.get("role")
    tools = (*blocks(content), *told_uses(metadata.get("toolUse")))
    told = [f"[tool {tool.name}] {json_text(tool.input)} {tool.result}" for tool in told_uses(metadata.get("toolUse"))]
    iteration = metadata.get("iteration")
    return Turn(
        id=str(raw.get("id", "")),
        role=role if isinstance(role, str) else "unknown",
        at=moment(raw.get("timestamp")),
        words=conversation.text(_spoken(content)),
        text="\n".join(filter(None, (conversation.text(content), *told))),
        internal=metadata.get("internal") is True,
        tools=tools,
        checks=tuple(checks(metadata.get("verificationResults"))),
        iteration=iteration if isinstance(iteration, int) and not isinstance(iteration, bool) else None,
    )


def _spoken(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    return [one for one in content if not (isinstance(one, dict) and one.get("type") in ("tool_use", "tool_result"))]
