"""The `claude` command line, for who has a subscription and no key: no tools, no hooks, nothing left behind."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from dagentd.adapters.models import Answer, CallFailed, Kind, Question
from dagentd.adapters.models.model_process import Ended, run

_QUIET = ("--safe-mode", "--strict-mcp-config", "--tools", "", "--no-session-persistence", "--output-format", "json")
_USAGE = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
# It would go on trying for minutes, and tell its makers about it.
_CALM = {"CLAUDE_CODE_MAX_RETRIES": "0", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
# Where it is installed, beside the PATH, of which a service manager leaves little.
_PLACES = ("~/.local/bin", "~/.claude/local", "/usr/local/bin", "/opt/homebrew/bin")
_REASONS: dict[object, Kind] = {"prompt_too_long": "too long", "blocking_limit": "too long"}
_STATUSES: dict[object, Kind] = {401: "auth", 404: "model", 413: "too long", 429: "rate", 529: "overloaded"}


def ask(question: Question, base_url: str) -> Answer:
    """In an empty folder, so that it reads no CLAUDE.md and no settings of a project."""
    more = _CALM | ({"ANTHROPIC_BASE_URL": base_url} if base_url else {})
    if (found := program()) is None:
        raise CallFailed("dead", "the claude command is not installed, or not where dagentd looks for it")
    command = [found, "-p", "--model", question.model, *_QUIET, "--system-prompt", question.system]
    prompt = "\n\n".join(filter(None, (question.stable, question.prompt))).encode("utf-8", "replace")
    with tempfile.TemporaryDirectory(prefix="dagentd-claude-") as empty:
        return _judged(run(command, prompt, question.seconds, more=more, cwd=Path(empty)))


def program() -> str | None:
    """Where the command is, if it is installed."""
    places = os.pathsep.join([os.environ.get("PATH", os.defpath), *map(os.path.expanduser, _PLACES)])
    return shutil.which("claude", path=places)


def _judged(ended: Ended) -> Answer:
    """By `is_error`, the exit status and the reason for the end; `subtype` says "success" of errors too."""
    told = _told(ended)
    usage = told["usage"] if isinstance(told.get("usage"), dict) else {}
    used = {"given": sum(_number(usage.get(name)) for name in _USAGE), "answered": _number(usage.get("output_tokens"))}
    reason = told.get("terminal_reason")
    if ended.status or told.get("is_error") is not False or reason not in (None, "completed"):
        status = told.get("api_error_status")
        message = f"claude ended with status {ended.status} ({reason or 'no reason'}): {told.get('result') or ''}"[:300]
        raise CallFailed(_REASONS.get(reason) or _STATUSES.get(status, "other"), message, **used)
    text = told.get("result")
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
