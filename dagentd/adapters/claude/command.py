"""The `claude` command line, for who has a subscription and no key: no tools, no hooks, nothing left behind."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from dagentd.adapters.claude import Answer, CallFailed, Question
from dagentd.adapters.claude.running import Ended, run

_QUIET = ("--safe-mode", "--strict-mcp-config", "--tools", "", "--no-session-persistence", "--output-format", "json")
_USAGE = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
# It would go on trying for minutes.
_ONE_TRY = {"CLAUDE_CODE_MAX_RETRIES": "1"}


def ask(question: Question) -> Answer:
    """In an empty folder, so that it reads no CLAUDE.md and no settings of a project."""
    schema = json.dumps(question.schema)
    command = ["claude", "-p", "--model", question.model, *_QUIET, "--json-schema", schema,
               "--system-prompt", question.system]  # fmt: skip
    prompt = "\n\n".join(question.prompts).encode("utf-8", "backslashreplace")
    with tempfile.TemporaryDirectory(prefix="dagentd-claude-") as empty:
        return _judged(run(command, prompt, question.seconds, more=_ONE_TRY, cwd=Path(empty)))


def _judged(ended: Ended) -> Answer:
    """By `is_error`, the exit status and the reason for the end; `subtype` says "success" of errors too."""
    told = _told(ended)
    usage = told["usage"] if isinstance(told.get("usage"), dict) else {}
    used = {"given": sum(_number(usage.get(name)) for name in _USAGE), "answered": _number(usage.get("output_tokens"))}
    reason = told.get("terminal_reason")
    if ended.status or told.get("is_error") or reason not in (None, "completed", "end_turn"):
        words = told.get("result") if isinstance(told.get("result"), str) else ended.errors.decode(errors="replace")
        message = f"claude ended with status {ended.status} ({reason}): {words}"[:300]
        raise CallFailed("too long" if "too long" in message.lower() else "other", message, **used)
    found = told.get("structured_output")
    text = json.dumps(found) if isinstance(found, dict) else told.get("result")
    if not isinstance(text, str) or not text.strip():
        raise CallFailed("garbled", "claude answered nothing", **used)
    cost = told.get("total_cost_usd")
    return Answer(text, **used, cost=float(cost) if isinstance(cost, int | float) else None)


def _told(ended: Ended) -> dict[str, Any]:
    try:
        told = json.loads(ended.output)
    except ValueError:
        last = ended.errors.decode(errors="replace").strip().rpartition("\n")[2][:200]
        raise CallFailed("garbled", f"claude printed no JSON (status {ended.status}): {last}") from None
    if not isinstance(told, dict):
        raise CallFailed("garbled", "claude printed something else than an object")
    return told


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
