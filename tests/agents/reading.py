"""Transcripts for tests: small real ones, and lines of our own in their shape."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dagentd.agents.conversation import Agent, Conversation, Event, Transcript, gather
from dagentd.agents.table import AGENTS

SAMPLES = Path(__file__).parent / "samples"
_BESIDE = [folder / "shared" / "data" / "claude-code" / "2026-early.jsonl" for folder in Path(__file__).parents[3:]]
EARLY = next((path for path in _BESIDE if path.exists()), _BESIDE[0])
CLAUDE, CODEX = AGENTS["claude-code"], AGENTS["codex"]


def sample(name: str) -> list[bytes]:
    return (SAMPLES / f"{name}.jsonl").read_bytes().splitlines(keepends=True)


def events(agent: Agent, lines: list[bytes], transcript: Transcript | None = None) -> list[Event]:
    reader = agent.reader(transcript or Transcript("11111111-1111-7111-8111-111111111111"), None)
    return [event for line in lines for event in reader.feed(line)]


def conversation(agent: Agent, lines: list[bytes], transcript: Transcript | None = None) -> Conversation:
    return gather(events(agent, lines, transcript))


def line(**fields: Any) -> bytes:
    return json.dumps(fields).encode() + b"\n"


def user(content: Any, uuid: str = "u1", **fields: Any) -> bytes:
    return line(type="user", uuid=uuid, timestamp="2026-11-18T10:00:00.000Z", message={"content": content}, **fields)


def assistant(content: Any, uuid: str = "a1", answer: str = "msg_1", **fields: Any) -> bytes:
    message = {"id": answer, "model": "claude-opus-5-5", "content": content}
    return line(type="assistant", uuid=uuid, timestamp="2026-11-18T10:00:01.000Z", message=message, **fields)


def item(at: str = "2026-11-18T10:00:00.000Z", **payload: Any) -> bytes:
    return line(timestamp=at, type="response_item", payload=payload)
