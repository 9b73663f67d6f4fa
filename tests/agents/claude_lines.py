"""Lines as Claude Code writes them, in the fewest words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

_clock = iter(range(10**9))


def at() -> str:
    number = next(_clock)
    return (
        f"2026-11-{1 + number // 86400 % 28:02}T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}.000Z"
    )


def dumped(**fields: Any) -> bytes:
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def said(kind: str, content: Any, cwd: Path | str, **more: Any) -> bytes:
    message = {"role": kind, "content": content, **more.pop("message", {})}
    common = {"uuid": str(uuid4()), "timestamp": at(), "cwd": str(cwd), "gitBranch": "main", "version": "2.1.326"}
    return dumped(**{"parentUuid": None, "isSidechain": False, "type": kind, "message": message, **common, **more})


def user(text: str, cwd: Path | str, **more: Any) -> bytes:
    return said("user", text, cwd, **more)


def answer(text: str, cwd: Path | str, *, output: int = 10, **more: Any) -> bytes:
    id = more.pop("answer", f"msg_{uuid4().hex}")
    usage = {"input_tokens": 5, "output_tokens": output, "cache_read_input_tokens": 100}
    message = {"id": id, "model": "claude-opus-5", "usage": usage}
    return said("assistant", [{"type": "text", "text": text}], cwd, message=message, requestId="req_1", **more)


def call(id: str, name: str, given: Any, cwd: Path | str) -> bytes:
    message = {"id": f"msg_{uuid4().hex}", "model": "claude-opus-5"}
    return said("assistant", [{"type": "tool_use", "id": id, "name": name, "input": given}], cwd, message=message)


def result(id: str, text: str, cwd: Path | str, **more: Any) -> bytes:
    return said("user", [{"type": "tool_result", "tool_use_id": id, "content": text, **more}], cwd)


def failed(id: str, text: str, cwd: Path | str) -> bytes:
    return result(id, text, cwd, is_error=True)


def compacted(summary: str, cwd: Path | str) -> bytes:
    boundary = dumped(type="system", subtype="compact_boundary", compactMetadata={"trigger": "auto"}, timestamp=at())
    return boundary + user(summary, cwd, isCompactSummary=True)


def attachment(held: dict[str, Any], cwd: Path | str) -> bytes:
    return dumped(type="attachment", attachment=held, uuid=str(uuid4()), timestamp=at(), cwd=str(cwd))


def title(text: str) -> bytes:
    return dumped(type="custom-title", customTitle=text)


def plumbing(size: int) -> bytes:
    return dumped(type="api-request-blob", blob="b" * size)
