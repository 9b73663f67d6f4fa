"""Lines that a program wrote, one by one or as a block that somebody pasted without marking it."""

from __future__ import annotations

import re
from collections.abc import Sequence

QUESTION = re.compile(r"\s*(?:[-*+•]\s+)?>[>\s]*([^>].*\?)\s*$")  # quoted, to be answered below it
BULLET = re.compile(r"\s*(?:[-*+•–]|\(?\d{1,3}[.)]|\(?[a-z]\)|\[[ xX]\]|[☐☑✓✅➡→])\s+(?:\[[ xX]\]\s+)?")
# A time or a level first, a stack frame, a diff, JSON, a prompt, a table, a banner, a place in a file, a gutter.
_LOGGED = re.compile(
    r"""\s*(?:\[?\d{4}-\d\d-\d\d[T ]\d|\[?\d\d:\d\d:\d\d|\[?(?:INFO|DEBUG|WARN|WARNING|TRACE|ERROR|FATAL|NOTICE)\]?[ :]
    |at\s+\S+\s*\(|File\s"|\#\d+\s+0x|[+-]{3}\s\S|@@\s|diff\s--git|index\s[0-9a-f]{7}|[{}\[\]]\s*,?\s*$|"[^"]+"\s*:
    |\$\s\S|>>>\s|%\s\S|\|[\s:|+-]*\|\s*$|npm\sERR!|[A-Z]\s{3}|<<<<<<<|>>>>>>>|=======|[❯➜]\s
    |[\w./-]+:\s(?:INFO|DEBUG|WARN(?:ING)?|ERROR|FATAL):\s|(?P<rule>[=─━═]{3,})\s.*(?P=rule)\s*$|\[sudo\]\s|[✗✘✖✔]\s
    |\S+\.\w+(?::\d+:\d+|\(\d+,\d+\))[:\s]|\d+\s{3,}\S|[~^]{2,}\s*$|[A-Z]{4,}\s\s)""",
    re.VERBOSE,
)
_CODE_ENDS = (";", "{", "}", "):", "=>", "*/")
_CODE = re.compile(r"\s*(?:import|from|const|let|var|def|class|return|#include)\s.*[;:('\"]")
# What a person may write as well, but not line after line: columns, an arrow of a diagram, an address alone, progress.
_OUTPUT = re.compile(
    r"\s*(?:\S.*?\S(?: {2,}|\t)\S.*?(?:(?: {2,}|\t)\S|\"$)|\S+\s+\"[^\"]*\"$|.*\S\s--+>\s?\S|https?://\S+$"
    r"|\[[^\]]*\]$|(?:[Ee]rror|[Ww]arning|[Ff]atal)(?:\[\w+\])?:\s|>|\[[a-z][\w-]*\]\s|@[\w-]+/\S+$|\w+:\s{2,}\S"
    r"|(?:\W\s)?[A-Z][a-z]+ing\b.*\.\.\.$|[\w.]+\s=\s\S+$|\S+\(\[?[\"'].*[\"']\]?\)$)"
)
_SPOKEN = re.compile(
    r"\b(?:i|we|you|me|my|our|your|us|please|pls|let['’]?s|don['’]?t|can|should|must|never|always)\b", re.IGNORECASE
)
_LEAST = 3  # lines of output that make a block


def is_data(line: str) -> bool:
    begin = line[:400]
    if QUESTION.match(begin):
        return False
    if begin.lstrip().startswith(">") or _LOGGED.match(begin):
        return True
    coded = begin.rstrip().endswith(_CODE_ENDS) or bool(_CODE.match(begin))
    return coded and (begin.startswith(("    ", "\t")) or not _wordy(begin)) and not BULLET.match(begin)


def blocks(lines: Sequence[str]) -> set[int]:
    """The lines of such blocks: from one that looks like output to another, when half of them do and nobody speaks."""
    found: set[int] = set()
    if len(lines) < _LEAST:
        return found
    held: list[int] = []  # of the block so far, and how many of its lines look like output
    looks = 0
    for at, line in enumerate([*lines, "I"]):
        if _is_output(line):
            held.append(at)
            looks += 1
        elif held and line.strip():
            if _is_spoken(line[:400].strip()) or len(held) > 2 * looks:
                found.update(_until_last(held, lines) if looks >= _LEAST else ())
                held, looks = [], 0
            else:
                held.append(at)
    return found


def _is_spoken(line: str) -> bool:
    """By a person: with a word to somebody, or as a whole sentence; or the fence of a block that is marked."""
    whole = line.endswith((".", "!", "?")) and not line.endswith("...") and line.count(" ") > 2
    return whole or line.startswith(("```", "~~~")) or bool(_SPOKEN.search(line))


def _until_last(held: list[int], lines: Sequence[str]) -> range:
    last = max(at for at in held if _is_output(lines[at]))
    return range(held[0], last + 1)


def _is_output(line: str) -> bool:
    begin = line[:400].rstrip()
    return bool(begin) and bool(_LOGGED.match(begin) or (_OUTPUT.match(begin) and not BULLET.match(begin)))


def _wordy(line: str) -> bool:
    return sum(word.isalpha() for word in line.split()) >= 5
