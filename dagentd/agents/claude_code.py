"""Transcripts of Claude Code, as its versions 2.1.7 to 2.1.327 wrote them.

One object a line, `user` and `assistant` among some thirty other types. An answer is as many lines as it has blocks,
all with one `message.id`; results of tools come back as `user`, as does much of what the program tells the model."""

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
    is_ours,
    line_id,
    mapping,
    moment,
    objects,
    parse,
    string,
    without,
    words,
)
from dagentd.model.opening import TAG

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SUBAGENT = re.compile(r"agent-([A-Za-z0-9_-]{1,64})\.jsonl")
# They begin with their type, and are nine tenths of a transcript: not worth parsing.
_PLUMBING = (b'{"type":"api-request', b'{"type":"file-history', b'{"type":"queue-operation"', b'{"type":"progress"')
_TOLD = (  # what the program puts into a user's turn
    TAG,
    "system-reminder",
    "local-command-caveat",
    "local-command-stdout",
    "local-command-stderr",
    "command-message",
    "task-notification",
    "user-prompt-submit-hook",
    "session-start-hook",
    "ide_opened_file",
    "ide_selection",
    "bash-stdout",
    "bash-stderr",
)
_INTERRUPTED = "[Request interrupted by user"
_REMEMBERED = 64  # calls that wait for their result, and answers of which more may come


class _Reader:
    def __init__(self, transcript: Transcript, state: Mapping[str, Any] | None) -> None:
        self._is_subagent = transcript.subagent is not None
        held = state or {}
        self._facts: dict[str, str] = dict(held.get("facts", {}))
        self._answers: dict[str, list[str]] = dict(
            held.get("answers", {})
        )  # message.id → its lines; our id is the first
        self._calls: dict[str, list[Any]] = dict(held.get("calls", {}))  # tool_use.id → our id, whether it asks us
        self._trigger: str = held.get("trigger", "")
        self._costs: dict[str, float] = dict(held.get("costs", {}))
        self._at: str = held.get("at", "")

    def state(self) -> dict[str, Any]:
        held = {"facts": self._facts, "answers": self._answers, "calls": self._calls}
        return {**held, "trigger": self._trigger, "costs": self._costs, "at": self._at}

    def feed(self, line: bytes) -> list[Event]:
        if line.startswith(_PLUMBING) or (told := parse(line)) is None:
            return []
        told["timestamp"] = moment(told)
        self._at = told["timestamp"] or self._at
        match told.get("type"):
            case "user" if told.get("isMeta") is not True:
                return [*self._new_facts(told), *self._user(told, line)]
            case "assistant":
                return [*self._new_facts(told), *self._assistant(told, line)]
            case "attachment":
                return [*self._new_facts(told), *self._queued(told, line)]
            case "system" if told.get("subtype") == "compact_boundary":
                self._trigger = string(mapping(told, "compactMetadata"), "trigger")
            case "custom-title":
                return _titles(Title(string(told, "customTitle"), "user"))
            case "ai-title":
                return _titles(Title(string(told, "aiTitle")))
            case "cost-state":
                return self._spent(told)
        return []

    def _new_facts(self, told: Object) -> list[Event]:
        if told.get("isSidechain") is True and not self._is_subagent:
            return []
        known = {
            "cwd": string(told, "cwd"),
            "branch": string(told, "gitBranch"),
            "version": string(told, "version"),
            "model": _model(mapping(told, "message")),
            "started_at": self._facts.get("started_at") or string(told, "timestamp"),
            "forked_from": string(mapping(told, "forkedFrom"), "sessionId") or _asked_in_another(told),
        }
        new = {name: value for name, value in known.items() if value and self._facts.get(name) != value}
        self._facts.update(new)
        return [Facts(**new)] if new else []

    # --- users --------------------------------------------------------------------------------------------------

    def _user(self, told: Object, line: bytes) -> list[Event]:
        message = mapping(told, "message")
        content = message.get("content")
        if told.get("isCompactSummary") is True:
            return [self._summary(told, words(content), line)]
        results = [each for each in objects(message, "content") if string(each, "type").endswith("tool_result")]
        events = [self._result(each, told, line) for each in results]
        if mapping(told, "origin").get("kind") == "task-notification":
            return events
        if isinstance(content, list):
            content = [each for each in content if each not in results]
        return [*events, *self._said(told, content, line)]

    def _said(self, told: Object, content: Any, line: bytes) -> list[Event]:
        text = _typed(words(content))
        if not text:
            return []
        id = string(told, "uuid") or line_id(line)
        return [Message(id, "user", string(told, "timestamp"), text, sidechain=self._is_aside(told))]

    def _queued(self, told: Object, line: bytes) -> list[Event]:
        """The message that a user typed while the agent was at work: it is in no line of type user."""
        held = mapping(told, "attachment")
        if held.get("type") != "queued_command" or held.get("commandMode", "prompt") != "prompt":
            return []
        return self._said(told, held.get("prompt"), line)

    def _summary(self, told: Object, text: str, line: bytes) -> Summary:
        trigger, self._trigger = "rewind" if mapping(told, "summarizeMetadata") else self._trigger, ""
        text = without(text, _TOLD).strip()
        return Summary(string(told, "uuid") or line_id(line), string(told, "timestamp"), text, trigger)

    def _result(self, block: Object, told: Object, line: bytes) -> Event:
        call = string(block, "tool_use_id")
        holder, ours = self._calls.pop(call, (None, False))
        text = ECHO if ours else without(words(block.get("content")), ("system-reminder",))
        failed = block.get("is_error") is True
        if holder is not None:
            return Result(holder, call, text, failed)
        # Of a call that no line told of: cut off, or of another file. It is no user's word in any case.
        use, id = ToolUse(call, "", None, text, failed), line_id(line + call.encode())  # a line may have several
        return Message(id, "assistant", string(told, "timestamp"), "", (use,), sidechain=self._is_aside(told))

    # --- answers ------------------------------------------------------------------------------------------------

    def _assistant(self, told: Object, line: bytes) -> list[Event]:
        message = mapping(told, "message")
        if told.get("isApiErrorMessage") is True or message.get("model") == "<synthetic>":
            return []
        answer, own = string(message, "id"), string(told, "uuid") or line_id(line)
        lines = self._answers.get(answer, [])
        events = self._usage(told, message, answer)
        if own in lines:
            return events
        id = lines[0] if lines else own
        text = words(message.get("content")).strip()
        uses = tuple(self._use(each, id) for each in objects(message, "content")
                     if string(each, "type").endswith("tool_use"))  # fmt: skip
        if text or uses:
            if answer:
                self._answers = _latest({**self._answers, answer: [*lines, own]})
            aside, at, model = self._is_aside(told), string(told, "timestamp"), _model(message) or None
            events.append(Message(id, "assistant", at, text, uses, model, continues=bool(lines), sidechain=aside))
        return events

    def _use(self, block: Object, holder: str) -> ToolUse:
        use = ToolUse(string(block, "id"), string(block, "name"), block.get("input"))
        self._calls = _latest({**self._calls, use.id: [holder, is_ours(use.name, use.input)]})
        return use

    def _usage(self, told: Object, message: Object, answer: str) -> list[Event]:
        usage = mapping(message, "usage")
        if not usage or not answer:
            return []
        numbers = {
            "input": count(usage, "input_tokens"),
            "output": count(usage, "output_tokens"),
            "cache_read": count(usage, "cache_read_input_tokens"),
            "cache_write": count(usage, "cache_creation_input_tokens"),
            "reasoning": count(mapping(usage, "output_tokens_details"), "thinking_tokens"),
        }
        if not any(numbers.values()):  # a line that a compaction kept, or a fork
            return []
        key = f"{answer}:{string(told, 'requestId')}"
        return [Usage(key, string(told, "timestamp"), _model(message), **numbers, by_fork=self._is_fork)]

    def _spent(self, told: Object) -> list[Event]:
        """By model, what was spent since the line before. A fork begins with all that its origin had spent: the first
        line of a run therefore counts once, wherever it is found."""
        events: list[Event] = []
        start = count(told, "startTime")
        for model, usage in mapping(told, "modelUsage").items() if start else ():
            total = _dollars(usage)
            run = f"cost:{start}:{model}"
            if total and total != self._costs.get(run):
                spent = max(0.0, total - self._costs[run]) if run in self._costs else total
                key = f"{run}:{total}" if run in self._costs else run
                events.append(Usage(key, self._at, model, cost=spent, by_fork=self._is_fork))
                self._costs = _latest({**self._costs, run: total})
        return events

    @property
    def _is_fork(self) -> bool:
        return "forked_from" in self._facts

    def _is_aside(self, told: Object) -> bool:
        return told.get("isSidechain") is True and not self._is_subagent


def _latest(held: dict[str, Any]) -> dict[str, Any]:
    """The last of them: those before are over, or were interrupted."""
    return held if len(held) <= _REMEMBERED else dict(islice(held.items(), len(held) - _REMEMBERED, None))


def _model(message: Object) -> str:
    return "" if message.get("model") == "<synthetic>" else string(message, "model")


def _asked_in_another(told: Object) -> str:
    """The conversation in which an answer was given, where a fork has it (2.1.327)."""
    origin = string(told, "requestSessionId")
    return "" if origin == told.get("sessionId") else origin


def _dollars(usage: Any) -> float:
    cost = usage.get("costUSD") if isinstance(usage, dict) else None
    return float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) and 0 < cost < 1e9 else 0.0


def _titles(title: Title) -> list[Event]:
    return [title] if title.text.strip() else []


def _typed(text: str) -> str:
    """The text that a user typed: a command as it was typed, and nothing of what the program adds to it."""
    text = without(text, _TOLD).strip()
    if text.startswith("<bash-input>"):
        return f"! {_inside(text, 'bash-input')}"
    if text.startswith("<command-name>"):
        return f"{_inside(text, 'command-name')} {_inside(text, 'command-args')}".strip()
    return "" if text.startswith(_INTERRUPTED) else text


def _inside(text: str, tag: str) -> str:
    return text.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0].strip()


def _roots(environ: Mapping[str, str], home: Path) -> list[Path]:
    configured = environ.get("CLAUDE_CONFIG_DIR")
    return [(Path(configured) if configured else home / ".claude") / "projects"]


def _place(path: Path) -> Transcript | Attachment | None:
    """`{project}/{uuid}.jsonl`, and in `{project}/{uuid}/` what belongs to it."""
    match path.parts:
        case (_, name) if name.endswith(".jsonl") and _UUID.fullmatch(uuid := name.removesuffix(".jsonl")):
            return Transcript(uuid)
        case (_, uuid, "subagents", *_, name) if _UUID.fullmatch(uuid) and (subagent := _SUBAGENT.fullmatch(name)):
            return Transcript(uuid, subagent[1])
        case (_, uuid, "subagents" | "tool-results", *_, _) if _UUID.fullmatch(uuid):
            return Attachment(uuid, "/".join(path.parts[2:]))
    return None


def _resume(uuid: str) -> tuple[str, ...]:
    return "claude", "--resume", uuid


AGENT = Agent("claude-code", "claude", "Claude Code", 2, _roots, _place, _Reader, _resume)
