"""What the end of one of Claude Code's own session files tells; nothing in it is relied on."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dagentd.model import times
from dagentd.model.agx import Raw, section

_FILES = 10
_COMMAND = re.compile(r"<command-name>\s*(/[^\s<]{1,80})")
_ARGUMENTS = re.compile(r"<command-args>([^<]{1,400})")
_TOKENS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


@dataclass(frozen=True)
class Transcript:
    branch: str | None = None
    model: str | None = None
    last: str | None = None
    messages: int = 0
    tokens: int | None = None
    last_command: str | None = None
    files: tuple[str, ...] = ()


def read(tail: bytes, size: int, root: Path) -> Transcript:
    """`tail` is the end of a file of `size` bytes. How many messages came before it is judged by how many are in it."""
    lines = list(_lines(tail, whole=size <= len(tail)))
    said = [line for line in lines if line.get("type") in ("user", "assistant") and not line.get("isMeta")]
    count = len(said) if size <= len(tail) else round(len(said) * size / max(len(tail), 1))
    answers = [section(line, "message") for line in said if line.get("type") == "assistant"]
    return Transcript(
        branch=_last_text(lines, "gitBranch"),
        model=next((m for each in reversed(answers) if (m := _text(each.get("model"))) and m[0] != "<"), None),
        last=next((at for each in reversed(lines) if times.parse(at := each.get("timestamp"))), None),
        messages=count,
        tokens=next((n for each in reversed(answers) if (n := _tokens(section(each, "usage")))), None),
        last_command=next((c for each in reversed(said) if (c := _command(each))), None),
        files=tuple(_files(said, root)),
    )


def _lines(tail: bytes, whole: bool) -> Iterator[Raw]:
    """Without the first, which may be only the end of one, and without a last one that is still being written."""
    parts = tail.split(b"\n")
    for part in parts if whole else parts[1:]:
        try:
            line = json.loads(part)
        except (ValueError, RecursionError):
            continue
        if isinstance(line, dict):
            yield line


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _last_text(lines: list[Raw], key: str) -> str | None:
    return next((text for line in reversed(lines) if (text := _text(line.get(key)))), None)


def _tokens(usage: Raw) -> int:
    return sum(value for key in _TOKENS if isinstance(value := usage.get(key), int) and value > 0)


def _command(line: Raw) -> str | None:
    content = section(line, "message").get("content")
    if not isinstance(content, str) or not (name := _COMMAND.search(content)):
        return None
    arguments = _ARGUMENTS.search(content)
    return " ".join((name[1], *(arguments[1].split() if arguments else ())))


def _files(said: list[Raw], root: Path) -> list[str]:
    """The last files in the project that a tool was used on, the latest first."""
    found: dict[str, None] = {}
    for line in reversed(said):
        content = section(line, "message").get("content")
        for part in content if isinstance(content, list) else []:
            path = section(part, "input").get("file_path") if isinstance(part, dict) else None
            if isinstance(path, str) and path.startswith(f"{root}{os.sep}") and ".." not in path:
                found.setdefault(path.removeprefix(f"{root}{os.sep}"))
            if len(found) == _FILES:
                return list(found)
    return list(found)
