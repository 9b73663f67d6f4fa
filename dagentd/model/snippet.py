"""A short excerpt of a message around what was searched for: one line, each match in «guillemets», cuts as …."""

from __future__ import annotations

import re

from dagentd.model.query import ACCENTS, Query, fold

_BEFORE, _AFTER = 50, 150  # characters shown around the beginning of the first match
_CHUNK, _OVERLAP = 4000, 1000  # a message has up to 16 MiB: it is folded bit by bit until the match is found
_GAP = re.compile(r"\s")
# A character with what is written onto it; a Hangul syllable may be spelled in three characters.
_CLUSTER = re.compile(f"[\\s\\S][{ACCENTS}\u1160-\u11ff\u3099\u309a]*")


def snippet(text: str, query: Query) -> str:
    """The beginning of the text if nothing is found in it."""
    for pattern in query.patterns:
        if (at := _first(text, pattern)) is not None:
            return _excerpt(text, at, pattern)
    return _excerpt(text, 0, None)


def _first(text: str, pattern: re.Pattern[str]) -> int | None:
    for start in range(0, len(text), _CHUNK):
        chunk = text[start : start + _CHUNK + _OVERLAP]
        if pattern.search(fold(chunk)) and (spans := _spans(chunk, pattern)):
            return start + spans[0][0]
    return None


def _spans(text: str, pattern: re.Pattern[str]) -> list[tuple[int, int]]:
    """Where the matches are in the text as it was written."""
    clusters = [(match.span(), fold(match[0])) for match in _CLUSTER.finditer(text)]
    places = [span for span, folded in clusters for _ in folded]
    whole = "".join(folded for _, folded in clusters)
    return [(places[match.start()][0], places[match.end() - 1][1]) for match in pattern.finditer(whole)]


def _excerpt(text: str, at: int, pattern: re.Pattern[str] | None) -> str:
    start, end = _begin(text, at), at + _AFTER
    shown, done, parts = text[start:end], 0, []
    for first, last in _spans(shown, pattern) if pattern else ():
        parts += [shown[done:first], "«", shown[first:last], "»"]
        done = last
    line = " ".join("".join([*parts, shown[done:]]).split())
    return f"{'…' if start else ''}{line}{'…' if end < len(text) else ''}"


def _begin(text: str, at: int) -> int:
    """Some words before the match, and not half of a word, unless it is long."""
    start = max(0, at - _BEFORE)
    gap = _GAP.search(text, start, start + _BEFORE // 2) if start else None
    return gap.end() if gap else start
