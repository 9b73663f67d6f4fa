"""A stand-in for the models of Claude Code and Codex: streams what was scripted for the words of the last prompt.

The programs ask for more than a test knows of (titles, summaries, subagents, all at once), so a script is found by what
was said and how often the model has answered since, never by the order of requests."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

from tests.messages_api import MESSAGES, MessagesApi, Reply, Seen

RESPONSES = "/v1/responses"
MODEL = "claude-sonnet-4-5"
_STREAM = {"content-type": "text/event-stream"}


@dataclass(frozen=True)
class Call:
    """A tool that the model asks for; Codex has some of its own in a `namespace`."""

    name: str
    input: dict[str, Any]
    namespace: str = ""


Step = str | Call | list[str | Call]


class StandInApi(MessagesApi):
    """Answers `ok` where no script fits."""

    def __init__(self) -> None:
        super().__init__()
        self._scripts: dict[str, tuple[Step, ...]] = {}
        self._numbers = count(1)
        self.sizes: deque[int] = deque()  # of the next prompts, in tokens; those to come after them are small

    def script(self, words: str, *steps: Step) -> None:
        """To a prompt that has these words the first step is answered, to its tools' results the next one."""
        self._scripts[words] = steps

    def answer(self, seen: Seen) -> Reply:
        if seen.path == MESSAGES:
            self.seen.append(seen)
            return _reply(number := next(self._numbers), _messages(self._step(_turns(seen.body)), number, self._size()))
        if seen.path == RESPONSES:
            self.seen.append(seen)
            return _reply(
                number := next(self._numbers), _responses(self._step(_items(seen.body)), number, self._size())
            )
        return super().answer(seen)

    def _size(self) -> int:
        return self.sizes.popleft() if self.sizes else 100

    def _step(self, said: list[tuple[str, str]]) -> list[str | Call]:
        """By the last words of a user that a script is for."""
        for place in range(len(said) - 1, -1, -1):
            role, text = said[place]
            steps = next((steps for words, steps in self._scripts.items() if role == "user" and words in text), None)
            if steps is not None:
                number = sum(role == "assistant" for role, _ in said[place:])
                step = steps[min(number, len(steps) - 1)]
                return step if isinstance(step, list) else [step]
        return ["ok"]


def _turns(body: Any) -> list[tuple[str, str]]:
    return [(each["role"], _text(each["content"])) for each in body["messages"]]


def _items(body: Any) -> list[tuple[str, str]]:
    """Calls stand for what the model said; their outputs, like instructions, for nothing."""
    roles = {"function_call": "assistant", "custom_tool_call": "assistant"}
    found = [(each.get("role") or roles.get(each["type"], ""), _text(each.get("content"))) for each in body["input"]]
    return [(role, text) for role, text in found if role in ("user", "assistant")]


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text", "") for block in content or [] if isinstance(block, dict))


def _reply(number: int, events: Iterator[dict[str, Any]]) -> Reply:
    lines = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    return Reply(body="".join(lines).encode(), headers={**_STREAM, "request-id": f"req_{number:04}"})


def _messages(step: list[str | Call], number: int, size: int) -> Iterator[dict[str, Any]]:
    usage: dict[str, Any] = {
        "input_tokens": size + number,
        "cache_creation_input_tokens": 20,
        "cache_read_input_tokens": 30,
    }
    message: dict[str, Any] = {
        "id": f"msg_{number:04}",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [],
    }
    message |= {"stop_reason": None, "stop_sequence": None, "usage": {**usage, "output_tokens": 1}}
    yield {"type": "message_start", "message": message}
    for index, part in enumerate(step):
        block, delta = _block(part, f"toolu_{number:04}_{index}")
        yield {"type": "content_block_start", "index": index, "content_block": block}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    reason = "tool_use" if any(isinstance(part, Call) for part in step) else "end_turn"
    stop = {"stop_reason": reason, "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": {**usage, "output_tokens": 40 + number}}
    yield {"type": "message_stop"}


def _block(part: str | Call, id: str) -> tuple[dict[str, Any], dict[str, Any]]:
    if isinstance(part, str):
        return {"type": "text", "text": ""}, {"type": "text_delta", "text": part}
    block = {"type": "tool_use", "id": id, "name": part.name, "input": {}}
    return block, {"type": "input_json_delta", "partial_json": json.dumps(part.input)}


def _responses(step: list[str | Call], number: int, size: int) -> Iterator[dict[str, Any]]:
    yield {"type": "response.created", "response": {"id": f"resp_{number:04}"}}
    for index, part in enumerate(step):
        yield {"type": "response.output_item.done", "output_index": index, "item": _item(part, f"{number:04}_{index}")}
    usage: dict[str, Any] = {
        "input_tokens": size + number,
        "input_tokens_details": {"cached_tokens": 30},
        "output_tokens": 40 + number,
    }
    usage |= {"output_tokens_details": {"reasoning_tokens": 5}, "total_tokens": size + 40 + 2 * number}
    yield {"type": "response.completed", "response": {"id": f"resp_{number:04}", "usage": usage}}


def _item(part: str | Call, id: str) -> dict[str, Any]:
    if isinstance(part, str):
        content = [{"type": "output_text", "text": part, "annotations": []}]
        return {"type": "message", "role": "assistant", "id": f"item_{id}", "content": content}
    call = {"type": "function_call", "id": f"item_{id}", "call_id": f"call_{id}", "name": part.name}
    return {**call, "arguments": json.dumps(part.input), **({"namespace": part.namespace} if part.namespace else {})}
