"""The query of a search: its words and phrases, and text folded so that they are found in it.

Every word must occur, as a word or, from three letters on, as the beginning of one; "in quotes" words stand side by
side and are whole. Case and accents do not count. Names in code are found whole and by their parts: `getUserById` by
getuserbyid, user or UserById, `src/app/main.ts` by main.ts. Scripts without spaces are found by any run of characters.
Punctuation counts only in a query of nothing else, such as `=>`. There are no operators: OR, NEAR and * are text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from dagentd.errors import InvalidInput, LimitReached

LONGEST = 1000  # characters of a query
TOKENS = "unicode61 remove_diacritics 0 categories 'L* N* M* Co'"  # how SQLite is to cut what `indexed` returns
_APART = "\ue000"  # a token that no query has: no phrase goes across it
_TERM = re.compile(r'"([^"]+)"|(\S+)')
_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NAME = re.compile(r"[A-Za-z0-9]+")
_HIDDEN = re.compile(
    r"(?:\x1b\[[0-9;]*m|\\[nrt])([^\W_]+)"
)  # colours of a terminal, line ends in the JSON of a tool call
# Latin, Greek and Cyrillic accents, Hebrew points, Arabic vowel marks. Vowels of Indic scripts are marks too, but no
# accents: without them words become others.
ACCENTS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u1dc0-\u1dff\ufe20-\ufe2f"
_ACCENT = re.compile(f"[{ACCENTS}]")
# Thai to Tibetan, Burmese, Hangul, Khmer, kana, Han.
_UNSPACED = re.compile(
    "([\u0e00-\u0fff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff])"
)
_UNFIT = re.compile(f"[\0\ud800-\udfff{_APART}]")  # SQLite ends a text at NUL and holds no surrogates


def fold(text: str) -> str:
    """Without case, accents and the forms of a letter."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKD", text).casefold()
    return unicodedata.normalize("NFC", _ACCENT.sub("", folded))


def indexed(text: str) -> str:
    """The text as it goes into the index: folded, then the words behind escapes and the parts of names in it."""
    hidden = _HIDDEN.findall(text) if "\\" in text or "\x1b" in text else []
    words = [word for word in (*text.split(), *hidden) if not word.islower() and _HUMP.search(word)]
    names = [name for word in words for name in _NAME.findall(word) if _HUMP.search(name)]
    more = [_spaced(fold(word)) for word in hidden] + [_HUMP.sub(" ", name).lower() for name in names]
    return _spaced(fold(text)) + "".join(f" {_APART} {each}" for each in more)


def _spaced(folded: str) -> str:
    fit = _UNFIT.sub(" ", folded)
    return fit if fit.isascii() else _UNSPACED.sub(r" \1 ", fit)


@dataclass(frozen=True)
class Term:
    text: str
    whole: bool  # the words themselves, not what begins with them

    @cached_property
    def forms(self) -> list[str]:
        """As written, and with the parts of names apart: `getUser` is also found in `get_user`."""
        return list(dict.fromkeys(_spaced(fold(text)) for text in (self.text, _HUMP.sub(" ", self.text))))

    @property
    def expression(self) -> str:
        return f"({' OR '.join(map(self._phrase, self.forms))})"

    def _phrase(self, form: str) -> str:
        quoted = '"' + form.replace('"', '""') + '"'
        return quoted if self._ends else f"{quoted} *"

    @property
    def _ends(self) -> bool:
        """One or two letters begin too many words."""
        return self.whole or sum(map(len, _WORD.findall(self.forms[0]))) < 3

    def pattern(self, strict: bool) -> str:
        """A regular expression for folded text; if it is strict, for words and not for parts of names."""
        found = "|".join(r"[\W_]*".join(map(re.escape, _WORD.findall(form))) for form in self.forms)
        end = r"(?![^\W_])" if self._ends else ""
        return rf"(?<![^\W_])(?:{found}){end}" if strict else f"(?:{found})"


class Query:
    def __init__(self, text: str) -> None:
        if len(text) > LONGEST:
            raise LimitReached(f"a query has at most {LONGEST} characters", hint="Search for a part of it.")
        found = [Term(match[1] or match[2], match[1] is not None) for match in _TERM.finditer(text)]
        if not found:
            raise InvalidInput("the query is empty", hint="Give a word to search for.")
        self.terms = [term for term in found if all(map(_WORD.search, term.forms))]
        self.literals = [] if self.terms else [folded for term in found if (folded := fold(term.text))]

    @property
    def expression(self) -> str:
        """For the MATCH of SQLite's FTS5; empty if there is no word to look up."""
        return " AND ".join(term.expression for term in self.terms)

    def literally_in(self, text: str) -> bool:
        folded = fold(text)
        return bool(self.literals) and all(literal in folded for literal in self.literals)

    @cached_property
    def patterns(self) -> list[re.Pattern[str]]:
        """For folded text, the more exact first."""
        if not self.terms:
            return [re.compile("|".join(map(re.escape, self.literals)))] if self.literals else []
        return [re.compile("|".join(term.pattern(strict) for term in self.terms)) for strict in (True, False)]


# A short excerpt of a message around what was searched for: one line, each match in «guillemets», cuts as ….

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


Excerpt = Callable[[str, Query], str]


def safe_snippet(text: str, query: Query) -> str:
    """For whom it leaves the machine: secrets go before it is cut, because half of one is known by no pattern."""
    from dagentd.model.redaction import redacted  # many patterns, which most searches do without

    return snippet(redacted(text), query)


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
