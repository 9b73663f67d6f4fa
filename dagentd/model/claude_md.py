"""CLAUDE.md as Claude Code reads it: block comments do not count, and `@path` outside of code imports a file."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator

# Fences in quotes and list items count too: what is taken for code by mistake is only not imported.
_FENCE = re.compile(r"[ \t>]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t]++)?(`{3,}+(?=[^`]*+$)|~{3,}+)")
_COMMENT = re.compile(r" {0,3}<!--")
_INDENTED = re.compile(r"(?: {4}| {0,3}\t)")
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])\s")
_TICKS = re.compile("`+")
_IMPORT = re.compile(r"(?<!\S)@((?:\\ |[^\s\\])++)")
_ENDING = ".,;:!?)]}>'\"*_"
_LONGEST = 1024  # characters of a path


def without_comments(text: str) -> str:
    """Without block HTML comments; those in code and inside a line stay, and one that is never closed is none."""
    return "".join(line for line, _ in _lines(text)) if "<!--" in text else text


def imports(text: str) -> list[str]:
    """The words that stand behind an `@` at the start of a word, not in code, each once. Whether one is a path at all,
    and not a name or a decorator, only the disk can tell."""
    found: dict[str, None] = {}
    for paragraph in _paragraphs(text) if "@" in text else ():
        for match in _IMPORT.finditer(_without_spans(paragraph)):
            if len(match[1]) <= _LONGEST and "\0" not in match[1]:
                found[match[1].replace("\\ ", " ")] = None
    return list(found)


def paths(word: str) -> list[str]:
    """The paths an import may mean: the word as it is, or without what ends its sentence, or without its `#heading`."""
    short = word.rstrip(_ENDING)
    return [path for path in dict.fromkeys((word, short, short.partition("#")[0])) if path.strip("./~")]


def _paragraphs(text: str) -> Iterator[str]:
    held: list[str] = []
    for line, code in _lines(text):
        if not code and not line.isspace():
            held.append(line)
        elif held:
            yield "".join(held)
            held = []
    yield "".join(held)


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Every line that is no comment, with its end, and whether it is in a block of code."""
    blocks, at, closed = _Blocks(), 0, text.rfind("-->")
    while at < len(text):
        end = text.find("\n", at) + 1 or len(text)
        line = text[at:end]
        code = blocks.is_code(line)
        if not code and "<!--" in line and (match := _COMMENT.match(line)) and (begin := at + match.end()) <= closed:
            at = text.index("-->", begin) + 3
            rest = text.find("\n", at) + 1 or len(text)
            if not text[at:rest].strip():
                at = rest
            continue
        yield line, code
        at = end


class _Blocks:
    """Where blocks of code begin and end, line by line."""

    def __init__(self) -> None:
        self._fence = ""
        self._after_blank = True
        self._indented = self._in_list = False

    def is_code(self, line: str) -> bool:
        if self._fence:
            if self._fence in line and not line.strip(" \t>\r\n").strip(self._fence[0]):
                self._fence = ""
            return True
        if ("```" in line or "~~~" in line) and (match := _FENCE.match(line)):
            self._fence = match[1]
            return True
        return self._is_indented(line)

    def _is_indented(self, line: str) -> bool:
        """Four blanks are code after an empty line, but not in a list, where they go on with the item."""
        if line.isspace():
            self._after_blank = True
            return self._indented
        deep = _INDENTED.match(line) is not None
        self._indented = deep and not self._in_list and (self._after_blank or self._indented)
        if not line[0].isspace():
            self._in_list = _ITEM.match(line) is not None or (self._in_list and not self._after_blank)
        self._after_blank = False
        return self._indented


def _without_spans(paragraph: str) -> str:
    """A blank for each span of code: from a run of backticks to the next one of the same length."""
    runs = [(match.start(), match.end()) for match in _TICKS.finditer(paragraph)]
    starts: dict[int, list[int]] = defaultdict(list)
    for start, end in runs:
        starts[end - start].append(start)
    kept, at = [], 0
    for start, end in runs:
        if start < at:
            continue
        start += _is_escaped(paragraph, start)
        closers = starts.get(end - start, [])
        found = bisect_right(closers, start)
        if start < end and found < len(closers):
            kept.append(paragraph[at:start])
            at = closers[found] + end - start
    return " ".join([*kept, paragraph[at:]])


def _is_escaped(text: str, at: int) -> bool:
    before = at
    while before and text[before - 1] == "\\":
        before -= 1
    return (at - before) % 2 == 1
