"""Rollouts of Codex, as its versions up to 0.169 wrote them.

One object a line: `{timestamp, type, payload}`. What was said is in `response_item`; `event_msg` says most of it again,
for its own screens. A fork once began with all of its origin's lines, and now names where these end."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from dagentd.agents.conversation import (
    ECHO,
    Agent,
    Attachment,
    Event,
    Facts,
    Message,
    Result,
    Summary,
    Title,
    ToolUse,
    Transcript,
    Usage,
)
from dagentd.agents.lines import (
    Object,
    count,
    folder,
    is_ours,
    line_id,
    mapping,
    moment,
    parse,
    string,
    without,
    words,
)
from dagentd.model import times
from dagentd.model.opening import TAG

_NAME = re.compile(
    r"rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
    r"(?:_[0-9a-f-]{1,64})?\.jsonl(\.zst)?"
)
# They are long, and say nothing that is not said elsewhere.
_PLUMBING = (b'"type":"world_state"', b'"type":"item_completed"')
_TOLD = (  # what the program puts into a user's turn, where it does not say of each part what it is
    TAG,
    "environment_context",
    "user_instructions",
    "INSTRUCTIONS",
    "subagent_notification",
    "turn_aborted",
    "skill",
    "hook_context",
)
_INSTRUCTIONS = "# AGENTS.md instructions for "
_EXIT = re.compile(r"^Process exited with code (-?\d+)$|^Exit code: (-?\d+)$", re.MULTILINE)
_HEAD = 400  # characters within which a command's output begins, after what the program says about it
_REMEMBERED = 64
_BURST = 2.0  # seconds within which a fork wrote its origin's lines, in versions whose turns have no ids


class _Reader:
    def __init__(self, transcript: Transcript, state: Mapping[str, Any] | None) -> None:
        held = state or {}
        self._uuid = transcript.uuid
        self._facts: dict[str, str] = dict(held.get("facts", {}))
        self._calls: dict[str, list[Any]] = dict(held.get("calls", {}))  # call_id → our id, whether it asks us
        self._answer: str = held.get("answer", "")  # the message that further calls of the same answer belong to
        self._total: dict[str, int] | None = held.get("total")
        self._replay: str = held.get("replay", "")  # when it began; "" if this is no replay
        self._has_turns: bool = held.get("has_turns", False)

    def state(self) -> dict[str, Any]:
        held = {"facts": self._facts, "calls": self._calls, "answer": self._answer, "total": self._total}
        return {**held, "replay": self._replay, "has_turns": self._has_turns}

    def feed(self, line: bytes) -> list[Event]:
        if any(mark in line[:200] for mark in _PLUMBING) or (told := parse(line)) is None:
            return []
        payload, at = mapping(told, "payload"), moment(told)
        if self._is_replayed(string(told, "type"), payload, at):
            if payload.get("type") == "token_count":
                self._total = _numbers(mapping(mapping(payload, "info"), "total_token_usage"))
            return []
        match told.get("type"):
            case "session_meta":
                return self._began(payload, at)
            case "turn_context":
                return self._new_facts({"cwd": folder(payload, "cwd"), "model": string(payload, "model")})
            case "response_item" if mapping(told, "metadata").get("compaction_output") is not True:
                return self._item(payload, at, line)
            case "compacted":
                self._answer = ""
                return [Summary(line_id(line), at, without(string(payload, "message"), (TAG,)), "")]
            case "token_usage_record":
                return self._recorded(payload, at)
            case "event_msg":
                return self._event(payload, at)
        return []

    def _event(self, payload: Object, at: str) -> list[Event]:
        if payload.get("type") == "token_count":
            return self._counted(mapping(payload, "info"), at)
        if payload.get("type") == "thread_name_updated" and (name := string(payload, "thread_name").strip()):
            return [Title(name, "user")]
        return []

    # --- where it comes from ------------------------------------------------------------------------------------

    def _began(self, payload: Object, at: str) -> list[Event]:
        spawned = mapping(mapping(mapping(payload, "source"), "subagent"), "thread_spawn")
        return self._new_facts(
            {
                "cwd": folder(payload, "cwd"),
                "branch": string(mapping(payload, "git"), "branch"),
                "version": string(payload, "cli_version"),
                "started_at": self._facts.get("started_at") or moment(payload) or at,
                "forked_from": string(payload, "forked_from_id"),
                "parent": string(payload, "parent_thread_id") or string(spawned, "parent_thread_id"),
            }
        )

    def _new_facts(self, known: dict[str, str]) -> list[Event]:
        new = {name: value for name, value in known.items() if value and self._facts.get(name) != value}
        self._facts.update(new)
        return [Facts(**new)] if new else []

    def _is_replayed(self, kind: str, payload: Object, at: str) -> bool:
        """A second `session_meta`, of another thread, begins what the origin said. The first turn of this thread ends
        it: ids begin with their moment, so that a turn whose id is later than the thread's is its own."""
        if kind == "session_meta" and self._facts and string(payload, "id") not in ("", self._uuid):
            self._replay = self._replay or at
        if not self._replay:
            return False
        if turn := string(payload, "turn_id"):
            self._has_turns = True
            if turn > self._uuid:
                self._replay = ""
        elif not self._has_turns and _seconds(self._replay, at) > _BURST:
            self._replay = ""
        return bool(self._replay)

    # --- what was said ------------------------------------------------------------------------------------------

    def _item(self, payload: Object, at: str, line: bytes) -> list[Event]:
        kind, id = string(payload, "type"), string(payload, "id") or line_id(line)
        if kind == "message" and payload.get("role") == "assistant":
            text = words(payload.get("content")).strip()
            self._answer = id if text else self._answer
            return [Message(id, "assistant", at, text, model=self._facts.get("model"))] if text else []
        if kind == "message" and payload.get("role") == "user":
            self._answer = ""
            text = _typed(payload)
            return [Message(id, "user", at, text)] if text else []
        if kind.endswith("_call"):
            return [self._called(kind, payload, id, at)]
        return [self._result(payload, id, at)] if kind.endswith("_call_output") else []

    def _called(self, kind: str, payload: Object, id: str, at: str) -> Message:
        continues, self._answer = bool(self._answer), self._answer or id
        name = "__".join(filter(None, (string(payload, "namespace"), string(payload, "name") or kind)))
        given = _given(payload)
        call = string(payload, "call_id") or id
        calls = {**self._calls, call: [self._answer, is_ours(name, given)]}
        self._calls = dict(islice(calls.items(), max(0, len(calls) - _REMEMBERED), None))
        use, model = ToolUse(call, name, given), self._facts.get("model")
        return Message(self._answer, "assistant", at, "", (use,), model, continues=continues)

    def _result(self, payload: Object, id: str, at: str) -> Event:
        self._answer, call = "", string(payload, "call_id")
        holder, ours = self._calls.pop(call, (None, False))
        text, failed = _output(payload.get("output"))
        text = ECHO if ours else text
        if holder is not None:
            return Result(holder, call, text, failed)
        return Message(id, "assistant", at, "", (ToolUse(call, "", None, text, failed),))

    # --- what it took -------------------------------------------------------------------------------------------

    def _recorded(self, payload: Object, at: str) -> list[Event]:
        """One answer, since 0.16x. The `token_count` that follows has the same total, and adds nothing."""
        self._total, self._answer = _numbers(mapping(payload, "thread_token_usage")), ""
        answer = string(payload, "response_id") or f"{self._uuid}:{self._total['total_tokens']}"
        return self._usage(answer, at, _numbers(mapping(payload, "usage")))

    def _counted(self, info: Object, at: str) -> list[Event]:
        """By what was added to the total: the same count is told again and again. A thread that came from another one
        begins with that one's total."""
        total, last = _numbers(mapping(info, "total_token_usage")), _numbers(mapping(info, "last_token_usage"))
        before, self._total, self._answer = self._total, total, ""
        if before is None:
            is_new = not (self._facts.get("forked_from") or self._facts.get("parent"))
            before = dict.fromkeys(total, 0) if is_new else {key: total[key] - last[key] for key in total}
        added = {key: total[key] - before[key] for key in total}
        added = last if min(added.values()) < 0 else added  # it began anew
        return self._usage(f"{self._uuid}:{total['total_tokens']}", at, added)

    def _usage(self, key: str, at: str, took: dict[str, int]) -> list[Event]:
        if not any(took.values()):
            return []
        read, written = took["cached_input_tokens"], took["cache_write_input_tokens"]
        numbers = {
            "input": max(0, took["input_tokens"] - read - written),
            "output": took["output_tokens"],
            "cache_read": read,
            "cache_write": written,
            "reasoning": took["reasoning_output_tokens"],
        }
        return [Usage(f"codex:{key}", at, self._facts.get("model", ""), **numbers)]


_COUNTS = ("input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens")


def _numbers(usage: Object) -> dict[str, int]:
    return {name: count(usage, name) for name in (*_COUNTS, "reasoning_output_tokens", "total_tokens")}


def _typed(payload: Object) -> str:
    """Newer versions say of each part what it is; of older ones all that is known to be no user's word is left out."""
    content, about = payload.get("content"), mapping(payload, "internal_chat_message_metadata_passthrough")
    kinds = about.get("content_item_kinds")
    if isinstance(content, list) and isinstance(kinds, list) and len(kinds) == len(content):
        content = [
            part for part, kind in zip(content, kinds, strict=True) if str(kind).startswith(("user.", "unknown"))
        ]
    text = without(words(content), _TOLD).strip()
    return "" if text.startswith(_INSTRUCTIONS) else text


def _given(payload: Object) -> Any:
    given = next((payload[key] for key in ("arguments", "input", "action") if payload.get(key) is not None), None)
    if not isinstance(given, str) or "arguments" not in payload:
        return given
    parsed = parse(given.encode("utf-8", "replace"))
    return given if parsed is None else parsed


def _output(output: Any) -> tuple[str, bool]:
    """Its text, and whether it failed. Once it was JSON in a text, now it is a text with a head, or a list of parts."""
    held: Any = output
    if isinstance(output, str) and output.startswith('{"output":'):
        held = parse(output.encode("utf-8", "replace"))
    if isinstance(held, dict):
        about = mapping(held, "metadata")
        text = words(held.get("output", held.get("content")))
        return text, held.get("success") is False or about.get("exit_code", 0) != 0
    text = words(output)
    head, said, rest = text[:_HEAD].partition("\nOutput:\n")
    code = _EXIT.search(head) if said else None
    return (rest + text[_HEAD:] if code else text), code is not None and (code[1] or code[2]) != "0"


def _seconds(one: str, other: str) -> float:
    first, second = times.parse(one), times.parse(other)
    return (second - first).total_seconds() if first and second else 0.0


def _roots(environ: Mapping[str, str], home: Path) -> list[Path]:
    configured = environ.get("CODEX_HOME")
    base = Path(configured) if configured else home / ".codex"
    return [base / "sessions", base / "archived_sessions"]


def _place(path: Path) -> Transcript | Attachment | None:
    found = _NAME.fullmatch(path.name)
    return Transcript(found[1], compressed=bool(found[2])) if found else None


def _resume(uuid: str) -> tuple[str, ...]:
    return "codex", "resume", uuid


AGENT = Agent("codex", "codex", "Codex", 2, _roots, _place, _Reader, _resume)
