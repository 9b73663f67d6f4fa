"""The phrases of a sentence, and in between the small words that tell what each is to the other."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from dagentd.model.compaction.local.subjects import COUNTS, ORDINALS, STOP, stem

Phrase = tuple[str, ...]

_WORD = re.compile(r"[^\W_](?:[\w+#/@.'’-]*[\w+#/])?|[-=]>|[^\w\s]")
_OF = re.compile(r"\s+(?:of|per)\s+(?:(?:the|our|my|your|its)\s+)?(?=[^\W\d])")
_SHORT = re.compile(r"(?<=ca)n[’']t\b|\bwon[’']t\b|(?<=\w)(?:n[’']t|[’'](?:ll|re|ve|m|d|s))\b", re.IGNORECASE)
_FULL = {"won't": "will not", "n't": " not", "'ll": " will", "'re": " are", "'ve": " have", "'m": " am"} | {
    "'d": " would",
    "'s": "",
}
_IS = re.compile(r"\b(it|that|this|what|there|here|he|she|who)[’']s\b", re.IGNORECASE)
# Between phrases: D an article, F for, S as, K a colon, C is, U with, W on, T a time,
# P a pause, E an end, X whatever else.
_SMALL = {
    word: code
    for code, some in {
        "D": "the our my your this its a an that another der die das el la le",
        "F": "for about regarding concerning re für para pour",
        "S": "as",
        "K": ": = -> => → ? - – — |",
        "C": "is are be becomes become remains stays was equals means",
        "U": "with w/ using via use uses run runs",
        "W": "on in by to onto into at under through from off atop upon",
        "T": "before after until till during",
        "E": ". !",
    }.items()
    for word in some.split()
}
# Verbs that are nouns behind another: the container base image, the secrets store.
_NOUNS = "base store message host place call plan power build update change"
_DECIDING = "question choice issue matter answer pick option winner verdict outcome topic subject context area ruling"
_QUALIFYING = "better best own whole main current hard small quick final different meant supposed intended expected"
_COMPOUND = frozenset(_NOUNS.split())
_IDLE = frozenset(f"{_DECIDING} {_QUALIFYING}".split())
# From when on something holds says nothing of what it is: `by sliding window starting this sprint`.
_WHEN = re.compile(
    r"\b(?:starting|beginning|effective|as of|from) (?:now(?: on)?|today|tomorrow|immediately"
    r"|(?:this|the next|next) \w+)\b|\b(?:at the moment|right now|at present|for the time being)\b",
    re.IGNORECASE,
)
_ARROW = re.compile(r"\S+\s?(?:[-=]>|→)\s?(\S+)\s\(([^()]+)\)")
_BACK = re.compile(r"(\S+) ?(?:<-|←) ?([^.,;]+)")
_FRONTED = re.compile(
    r"\b(?:when it comes to|as regards|in terms of|with (?:regard|respect) to|speaking of)\b", re.IGNORECASE
)
_MADE = re.compile(r"\bmake (the|our|my) ((?:[a-z][\w-]*\s){1,4})(?=[A-Z\d])")
_MAKES = re.compile(r"\b(?:ma(?:kes?|king|de)|calls?|names?) (?!(?:the|our|my|sure|it) )(\S+(?: \S+)?) (our|my)\b")
_REASON = re.compile(
    r"(?:^|(?<=[.;!?] ))(?:because|since)\b[^,.;]*,"
    r"|(?<=\w )(?:because|since|b/c|weil|porque|parce que)\b(?:(?! and (?:what|so|now|we)\b)[^.;])*"
    r"|, b/c\b[^.;]*|, (?:\w+ly )?as (?:the|we|it|that|our|i|they|there)\b[^.;]*",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Chunk:
    """Words that stand together, with the codes of what stands before them. `named` is whether a name or a number is
    among them; what is nothing else is a `value` and no topic."""

    stems: Phrase
    named: bool
    value: bool
    before: str
    ends: bool = True  # its clause
    one_of_many: bool = False  # a mistake, as opposed to the cache

    @property
    def counts(self) -> bool:
        return _counts(self.stems[0])

    @property
    def definite(self) -> bool:
        return self.before.endswith("D")


@lru_cache(maxsize=4096)
def chunks(text: str) -> list[Chunk]:
    found: list[Chunk] = []
    held: list[str] = []
    between, begins, article = "", True, ""
    for token in [*_WORD.findall(spelt_out(_plain(text))), "."]:
        low = token.lower()
        content = _is_content(low) or (bool(held) and low in _COMPOUND)
        if held and (not content or (_counts(low) and not ORDINALS.search(stem(held[-1].lower())))):
            found.append(replace(_chunk(held, between, begins), one_of_many=article in ("a", "an", "another")))
            held, between, begins, article = [], "", False, ""
        if content:
            held.append(token)
            continue
        between += _SMALL.get(low) or ("X" if token[0].isalnum() else "P")
        begins, article = between[-1] == "E", low
    after = [re.match("[XW]*[PEK]", chunk.before) is not None for chunk in found[1:]]
    return [replace(chunk, ends=ends) for chunk, ends in zip(found, [*after, True], strict=False)]


def unreasoned(text: str) -> str:
    return _REASON.sub(" ", text)


def _plain(text: str) -> str:
    """Without reasons and dates; `yarn -> bun (package manager)`, `package manager <- bun` and `this makes bun our
    package manager` in the usual words."""
    usual = _MAKES.sub(r"\1 as \2", _MADE.sub(r"\1 \2is ", text))
    usual = _ARROW.sub(r"\2: \1", _BACK.sub(r"\2: \1", _FRONTED.sub("for", usual)))
    return _OF.sub(" ", _WHEN.sub("", unreasoned(usual)))


def _chunk(tokens: list[str], between: str, begins: bool) -> Chunk:
    names = [_is_name(token, begins and at == 0) for at, token in enumerate(tokens)]
    value = _counts(tokens[0].lower()) or (all(names) and not between.endswith("D"))
    return Chunk(tuple(stem(token.lower()) for token in tokens[:5]), any(names), value, between)


def _is_content(low: str) -> bool:
    if not low[0].isalnum() or low in STOP or low in _SMALL or low in _IDLE:
        return False
    return len(low) < 6 or not low.endswith("ly") or "-" in low  # definitely, probably


def _counts(low: str) -> bool:
    return low[0].isdecimal() or low in COUNTS


def _is_name(token: str, begins: bool) -> bool:
    return bool(re.search(r"(?<=\w)[A-Z]|\d|\w[./_]\w", token)) or (token[0].isupper() and not begins)


def spelt_out(text: str) -> str:
    return _SHORT.sub(_full, _IS.sub(r"\1 is", text))


def _full(found: re.Match[str]) -> str:
    short = found[0].lower().replace("’", "'")
    return "nnot" if short == "n't" and found.string[: found.start()].lower().endswith("ca") else _FULL[short]
