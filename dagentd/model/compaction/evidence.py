"""Evidence in messages beside words: tools that were used on files, checks that passed or failed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dagentd.model import conversation
from dagentd.model.compaction.items import list_of, object_of
from dagentd.model.prompt_text import json_text

_PATHS = ("file_path", "filePath", "path", "file", "filename", "notebook_path", "paths", "files")
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)  # as apply_patch has them
_ERROR = re.compile(
    r"\s*(?:[^\w{]{0,3}(?:error|fatal|traceback|failed|failure|exception|panic|npm err!|command failed|build failed"
    r"|tests? failed)|exit(?:ed with)?(?: code| status)?:? [1-9]|\w+(?:Error|Exception): "
    r"|\{\s*\"error\":\s*(?:\"[^\"]|\{|true))",
    re.IGNORECASE,
)
_PASSED = ("passed", "pass", "success", "succeeded", "ok", "completed", "green", "true")
_FAILED = ("failed", "fail", "error", "failure", "errored", "red", "false")


@dataclass(frozen=True)
class ToolUse:
    """A call, a result, or both in one. `failed` is None while nobody knows; `source` is the message that it is of."""

    id: str
    name: str
    input: Any
    result: str
    failed: bool | None
    paths: tuple[str, ...]
    source: str = ""


@dataclass(frozen=True)
class Check:
    """A build, a linter, a test run; `error` is what it said when it failed."""

    name: str
    passed: bool
    error: str


def blocks(content: Any) -> Iterator[ToolUse]:
    """As the Messages API has them: a call and its result are blocks of different messages."""
    for block in list_of(content):
        if not isinstance(block, dict):
            continue
        if block.get("type") == "tool_use":
            given = block.get("input")
            yield ToolUse(str(block.get("id", "")), str(block.get("name", "")), given, "", None, _paths(given))
        elif block.get("type") == "tool_result":
            words, told = conversation.text(block.get("content")), block.get("is_error")
            failed = told if isinstance(told, bool) else begins_with_error(words)
            yield ToolUse(str(block.get("tool_use_id", "")), "", None, words, failed, ())


def told_uses(use: Any) -> Iterator[ToolUse]:
    """As our own metadata has it: the call with its result, if that is known; one, or a list of them."""
    for each in use if isinstance(use, list) else [use]:
        if not isinstance(each, dict) or not isinstance(each.get("name"), str):
            continue
        result, given = each.get("result"), each.get("input")
        failed = None if result is None else _failed(each, result)
        yield ToolUse("", each["name"], given, "" if result is None else _words(result), failed, _paths(given))


def _failed(use: Mapping[str, Any], result: Any) -> bool:
    """A result says that it failed by a flag, or, where there is none, by beginning with an error."""
    for holder in (use, result):
        if isinstance(holder, dict):
            for key, bad in (("isError", True), ("is_error", True), ("success", False), ("ok", False)):
                if isinstance(holder.get(key), bool):
                    return bool(holder[key] is bad)
            if isinstance(status := holder.get("exitCode", holder.get("exit_code")), int):
                return bool(status)
            if holder.get("error"):
                return True
    return begins_with_error(_words(result))


def begins_with_error(words: str) -> bool:
    """For results that have no flag."""
    return bool(_ERROR.match(words[:200]))


def _words(result: Any) -> str:
    """The text that a tool gave back; of an object the part that says what went wrong, else what was printed."""
    if isinstance(result, dict):
        return _first(result, "error", "stderr", "message", "output", "stdout", "content") or json_text(result)
    return conversation.text(result) if isinstance(result, str | list) else json_text(result)


def _paths(given: Any) -> tuple[str, ...]:
    given = {"patch": given} if isinstance(given, str) else object_of(given)
    found = [one for key in _PATHS for one in _texts(given.get(key))]
    edits = [edit for edit in list_of(given.get("edits")) if isinstance(edit, dict)]
    found += [one for edit in edits for one in _texts(edit.get("file_path"))]
    patches = [text for key in ("input", "patch") for text in _texts(given.get(key))]
    found += [one.strip() for text in patches for one in _PATCHED.findall(text)]
    return tuple(dict.fromkeys(one for one in found if len(one) < 500 and "\n" not in one))


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [one for one in values if isinstance(one, str) and one.strip()]


def checks(results: Any) -> Iterator[Check]:
    """A list of objects with a name each, or an object by name; the state is a flag or a word."""
    named = results.items() if isinstance(results, dict) else ((None, one) for one in list_of(results))
    for name, value in named:
        told: Mapping[str, Any] = value if isinstance(value, dict) else {"status": value}
        label = name or next(filter(None, map(told.get, ("name", "check", "type", "id"))), "")
        state = _state(told)
        if isinstance(label, str) and label and state is not None:
            error = "" if state else _first(told, "error", "message", "output", "details").strip()
            yield Check(label, state, error)


def _state(told: Mapping[str, Any]) -> bool | None:
    for key in ("passed", "success", "ok", "status", "result", "state"):
        value = told.get(key)
        if isinstance(value, bool):
            return value
        word = value.strip().lower() if isinstance(value, str) else ""
        if word in _PASSED or word in _FAILED:
            return word in _PASSED
    return None


def _first(told: Mapping[str, Any], *keys: str) -> str:
    return next((words for key in keys if (words := conversation.text(told.get(key))).strip()), "")


# --- tools as plain text tells of them: aider's notes, folded blocks of SpecStory, files named by a code fence ------

_EDITED = re.compile(r"^> (?:Applied edit to|Created|Creating empty file) (?P<path>\S+\.\w+)\s*$", re.M)
_COMMITTED = re.compile(r"^> Commit (?P<sha>[0-9a-f]{7,40}) (?P<subject>.+?)\s*$", re.M)
_RAN = re.compile(r"^> (?:Running|/run|/test) (?P<command>.+?)\s*$", re.M)
FOLDED = re.compile(r"<(tool-use|details|think|thinking|source)\b[^>]*>.*?(?:</\1>|\Z)", re.S)
_SUMMARY = re.compile(r"<summary>(.*?)</summary>", re.S)
_TOOL = re.compile(r"[Tt]ool [Uu]se: \**(?P<name>[\w.-]+)\**\s*(?:[•:·-]\s*(?P<told>.+))?", re.S)
_TOLD = re.compile(
    r"^(?:Run command|Running|Command|Edit file|Write file|Create file|Update file|File|Path): *(.+)$", re.I
)
_NAMED_FENCE = re.compile(r"^```\w*[: ](?P<path>[\w@~.-]*/?[\w@~./-]+\.\w{1,5})[ \t]*$", re.M)
_NOTE = re.compile(
    r"^> (?:Tokens:|Applied edit|Commit |You can use /undo|Added |Creat|Running|Aider v|Model:|Git repo|Repo-map|/"
    r"|Editor model|Weak model|Add .+ to the chat\?|Run shell command|Skipped|Dropping|No changes|https?:).*$",
    re.M,
)


def unmarked(text: str) -> str:
    """The text without the marks."""
    if "<" in text:
        text = FOLDED.sub("\n", text)
    return _NOTE.sub("", text) if text.startswith("> ") or "\n> " in text else text


def marked(text: str) -> Iterator[ToolUse]:
    """The uses of tools that the text tells of. Of what they gave back it is not known where that ends."""
    if "\n> " in text or text.startswith("> "):
        for match in _EDITED.finditer(text):
            yield _use("edit", {"file_path": match["path"]}, match["path"])
        for match in _COMMITTED.finditer(text):
            yield ToolUse("", "commit", None, f"[aider {match['sha']}] {match['subject']}", False, ())
        for match in _RAN.finditer(text):
            yield _use("run", {"command": match["command"]})
    if "<summary>" in text:
        for summary in _SUMMARY.findall(text):
            if (tool := _TOOL.search(summary)) is not None:
                yield from _folded(tool["name"], (tool["told"] or "").strip())
    if "```" in text:
        for path in dict.fromkeys(match["path"] for match in _NAMED_FENCE.finditer(text)):
            yield _use("edit", {"file_path": path}, path)


def _folded(name: str, told: str) -> Iterator[ToolUse]:
    match = _TOLD.match(told)
    value = (match[1] if match else told).strip("`* ")
    if re.search(r"command|terminal|shell|bash|exec", name, re.I):
        yield _use(name, {"command": value})
    elif value and " " not in value:
        yield _use(name, {"file_path": value}, value)


def _use(name: str, given: dict[str, str], *paths: str) -> ToolUse:
    return ToolUse("", name, given, "", None, paths)
