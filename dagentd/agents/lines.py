"""Lines that other programs wrote, of which nothing is sure: read without raising, whatever is in them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from dagentd.model import times
from dagentd.model.jsontext import too_deep

_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_PATH_MAX = 4096
_NESTED = 200  # brackets in a line below which it cannot be nested more deeply than we can write again

# Commands of ours that tell what was said before, and tools that run commands.
_TELLING = re.compile(
    r"(?:\A|[\s;&|(`/])dagentd\s+"
    r"(?:search|show|brief|recall|sessions|messages|history|request|export|context|usage|call|top)\b"
)
_SHELLS = ("Bash", "exec_command", "shell", "shell_command", "local_shell_call")
_OURS = ("mcp__dagentd__", "mcp__plugin_dagentd_")

Object = dict[str, Any]


def parse(line: bytes) -> Object | None:
    """The line's object, None if it is none. What is no text becomes U+FFFD, so that all of it can be written."""
    try:
        value = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    if line.count(b"{") + line.count(b"[") >= _NESTED and too_deep(value):
        return None
    return _clean(value) if _ESCAPED_SURROGATE.search(line) else value


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    return [_clean(item) for item in value] if isinstance(value, list) else value


def line_id(line: bytes) -> str:
    """An id for what has none: the same line, wherever it is found, has the same."""
    return f"x-{hashlib.sha256(line.rstrip()).hexdigest()[:24]}"


def string(holder: Mapping[str, Any], *keys: str) -> str:
    """The first of these fields that is a text and not empty."""
    return next((value for key in keys if isinstance(value := holder.get(key), str) and value), "")


def folder(holder: Mapping[str, Any], key: str) -> str:
    """A path that a folder can have. To look for one of a hundred thousand parts takes seconds, again and again."""
    path = string(holder, key)
    return path if len(path) <= _PATH_MAX else ""


def moment(holder: Mapping[str, Any]) -> str:
    """When it was said, as sessions have it; empty where that is no moment."""
    found = times.parse(holder.get("timestamp"))
    try:
        return times.iso(found) if found is not None else ""
    except OverflowError:  # with a zone, in the first or the last year that there is
        return ""


def mapping(holder: Mapping[str, Any], key: str) -> Object:
    value = holder.get(key)
    return value if isinstance(value, dict) else {}


def objects(holder: Mapping[str, Any], key: str) -> list[Object]:
    value = holder.get(key)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def count(holder: Mapping[str, Any], key: str) -> int:
    """A number of tokens; what is none, or none that can be, counts nothing."""
    value = holder.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 50 else 0


def words(content: Any) -> str:
    """The text of a message's or a result's content: blocks of text one below the other, pictures by their name."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        content = [content]
    return "\n".join(filter(None, map(_block_words, content))) if isinstance(content, list) else ""


def _block_words(block: Any) -> str:
    if isinstance(block, str):
        return block
    if not isinstance(block, dict):
        return ""
    kind = string(block, "type")
    if "image" in kind or kind in ("document", "input_file"):
        return "[document]" if kind in ("document", "input_file") else "[image]"
    return string(block, "text") if "text" in kind else ""


def without(text: str, tags: tuple[str, ...]) -> str:
    """The text without what stands in these tags, where a tag begins a line: a user may well write about one."""
    for tag in tags:
        if f"<{tag}" in text:
            text = "".join(_outside(text, f"<{tag}", f"</{tag}>"))
    return text


def _outside(text: str, begin: str, end: str) -> Iterator[str]:
    kept = start = 0
    while (start := text.find(begin, start)) >= 0:
        after = start + len(begin)
        if (start == 0 or text[start - 1] == "\n") and text[after : after + 1] in (">", " "):
            stop = text.find(end, after)
            if stop < 0:
                break
            yield text[kept:start]
            after = kept = stop + len(end) + text.startswith("\n", stop + len(end))
        start = after
    yield text[kept:]


def is_ours(tool: str, given: Any) -> bool:
    """Whether a tool's result is what dagentd said."""
    if tool.startswith(_OURS):
        return True
    if tool not in _SHELLS or not isinstance(given, dict):
        return False
    command = given.get("command", given.get("cmd"))
    if isinstance(command, list):  # as older versions of Codex give it: its words
        command = " ".join(word for word in command if isinstance(word, str))
    return isinstance(command, str) and _TELLING.search(command) is not None
