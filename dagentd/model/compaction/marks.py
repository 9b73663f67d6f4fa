"""Tools as plain text tells of them: aider's notes, the folded blocks of SpecStory, files named by a code fence."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dagentd.model.compaction.evidence import ToolUse

_EDITED = re.compile(r"^> (?:Applied edit to|Created|Creating empty file) (?P<path>\S+\.\w+)\s*$", re.M)
_COMMITTED = re.compile(r"^> Commit (?P<sha>[0-9a-f]{7,40}) (?P<subject>.+?)\s*$", re.M)
_RAN = re.compile(r"^> (?:Running|/run|/test) (?P<command>.+?)\s*$", re.M)
FOLDED = re.compile(r"<(tool-use|details|think|thinking)\b[^>]*>.*?(?:</\1>|\Z)", re.S)
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
    """What was said, without the marks."""
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
