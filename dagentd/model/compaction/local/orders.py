"""Sentences in which a user forbids, demands or chooses: a short table of words, and nothing cleverer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dagentd.model.compaction.items import Item
from dagentd.model.compaction.local.typed import sentences, trimmed

# What opens a clause: there "use", "keep", "no" and "don't" command; elsewhere they tell of something.
_OPENS = r"(?:^|[,;:–—]\s*|\b(?:please|and|but|also|so|just|then|now|let'?s|should|must|can you|could you|you can) )"
_WORDS = re.compile(
    r"\b(?:never|always|must|mustn'?t|only|instead|rather than|prefer|make sure|be sure|ensure|keep in mind|remember to"
    r"|from now on|go with|stick (?:to|with)|switch to|no longer|needs? no|(?:is|are) to be|has to"
    r"|(?:should|must|may|shall)(?: not|n'?t)"
    r"|i(?:'d| would) (?:like|prefer|rather|go)|(?:don'?t|do not) (?:want|need)|(?<=\w )without"
    r"|nie|niemals|immer|muss|müssen|soll|sollen|nur|stattdessen|statt|darf|dürfen|verwende|benutze|lass"
    r"|kein|keine|keinen|keiner|keinem|keines"
    r"|nunca|siempre|debe|deben|debes|sólo|solo|en lugar de|en vez de|usa|utiliza|mantén|prefiero"
    r"|jamais|toujours|doit|doivent|seulement|uniquement|plutôt|au lieu|il faut"
    r"|utilise|utiliser|utilisez|garde|garder|gardez"
    r"|ne \w+ (?:pas|plus|que))\b"
    r"|不要|不能|不准|不许|别|必须|必須|一定要|务必|只能|只用|只要|总是|始终|永远|绝不|禁止|改用|请用|使用|保持|不得"
    r"|しないで|ないで|必ず|絶対|だけ|のみ|使って|使う|てはいけない|べき|代わりに|ではなく",
)  # fmt: skip
_COMMANDS = (
    r"do not|don'?t|dont|use|keep|no(?! (?:problem|worries|idea|better|worse|change|luck|effect)\b)"
    r"|not|avoid|stop|leave|bitte nicht|nicht|ne|no \w+es"
)
_OPENING = re.compile(rf"{_OPENS}(?:{_COMMANDS})\b")
_FIRST = re.compile(
    r"^(?:never|always|do not|don'?t|dont|must|only|use|keep|no|avoid|make sure|ensure|nie|niemals|immer|nur|nunca"
    r"|siempre|ne|jamais|toujours|不要|必须|禁止|必ず|絶対)\b",
)
_SHOULD = re.compile(r"\bshould\b(?! (?:work|be (?:fine|ok)|i\b|we\b))")
# Said of what is: who sees, gets or has a thing orders nothing by it.
_TELLS = re.compile(
    r"^(?:(?:but|and|so|no|hm+|well|ok(?:ay)?|like|basically),? )*(?:(?:i|we|it|that|this|there|you|he|she|they"
    r"|still|the \w+) (?:still |now |also |just |only |already |always |never |think |guess )*"
    r"(?:don'?t|do not|doesn'?t|didn'?t|can'?t|cannot|see|get|got|have|had|has|made|changed|did|was|were|is|am|are"
    r"|tried|works?|worked|keeps?|shows?|showed|fails?|failed)\b(?! (?:to|want|need|like|no\b|only\b))"
    r"|(?:the|my|our|his|her|their|these|those|all)(?: \w+){1,3} (?:never|always|only|no longer) \w+(?:s|ed)\b"
    r"|(?:when|if|while|since|because) .{0,40}\bi (?:get|got|see|have)\b|let'?s say|unlike|(?:this|that"
    r"|it) (?!needs|has\b)\w+s\b)",
)
_ASKS = re.compile(
    r"(?:what|why|how|where|when does|which|who|is|are|does|do (?:i|we|you)|did|was|were|has|have|any"
    r"|will|would it|warum|wie|wo|qué|cómo|pourquoi|comment)\b",
)
_FIRM = re.compile(
    r"\b(?:never|always|instead|keep|prefer|don'?t|do not|must|nie|immer|statt|nunca|siempre|jamais)\b|不要|必须|必ず",
)
_REQUESTS = re.compile(
    r"^(?:(?:and|also|so|please|ok(?:ay)?),? )*(?:can|could|would|will|shall|should|perhaps|maybe|may)\b",
)
_QUOTED = re.compile(r"\"[^\"]{8,}\"|'[^']{8,}'|`[^`]{8,}`|“[^”]{8,}”")
# Each order has one of the words of the table, but for other scripts: most sentences need no more than this look.
_LETTERS = str.maketrans({sign: " " for sign in map(chr, range(128)) if not sign.islower()})
_HINTS = {word for word in f"{_WORDS.pattern} {_COMMANDS} should".translate(_LETTERS).split() if len(word) > 1}
_HINTS -= {"to", "is", "are", "in", "on", "from", "now"}  # common; "from now on" is looked for by itself
_WORD = re.compile(r"\d+|[^\W_]{4,}|[\u3040-\u30ff\u4e00-\u9fff]{2}")
_COMMON = frozenset((
    "please", "should", "would", "could", "must", "always", "never", "only", "instead", "that", "this", "with", "from",
    "have", "make", "sure", "keep", "when", "where", "they", "them", "there", "their", "then", "than", "what", "which",
    "into", "also", "want", "need", "like", "just", "more", "some",
))  # fmt: skip
_REPLACES = re.compile(
    r"\b(?:instead of|rather than|no longer|statt|anstatt|en lugar de|en vez de|au lieu d[e']|drop"
    r"|forget)\b(.*)|(?:ではなく|不用|不再)(.*)",
    re.I,
)
_LONGEST = 320  # characters
_MOST = 10  # that a model is reminded of


@dataclass(frozen=True)
class Order:
    """The sentence as it was said, and the id of its message."""

    text: str
    source: str


def orders(spoken: Iterable[tuple[str, bool]], source: str) -> Iterator[Order]:
    """Where nobody speaks, only what begins as an order is one."""
    for paragraph, speaks in spoken:
        for each in sentences(paragraph):
            if is_order(each) and (speaks or _FIRST.match(each.lower())):
                yield Order(trimmed(each, _LONGEST), source)


def is_order(sentence: str) -> bool:
    """By what is said, not by what is quoted in it. Patterns that know one case are three times as fast."""
    lower = sentence.lower()
    if sentence.isascii() and "from now on" not in lower and _HINTS.isdisjoint(lower.translate(_LETTERS).split()):
        return False
    own = _QUOTED.sub("…", lower)
    if len(own) < 6 or own.endswith((":", "：")):
        return False
    if _TELLS.match(own) and not re.search(r"\bmust\b|\binstead\b", own):
        return False
    if _ASKS.match(own) or own.endswith(("?", "？")):
        return bool(_FIRM.search(own)) and bool(_REQUESTS.match(own))
    return bool(_WORDS.search(own) or _OPENING.search(own) or _SHOULD.search(own))


def standing(found: Sequence[Order]) -> list[Order]:
    """Those that hold: one that is said again or replaced later leaves its place to the last."""
    kept: list[tuple[Order, frozenset[str]]] = []
    for each in found:
        words, named = content(each.text), _named(each.text)
        kept = [one for one in kept if one[0].text != each.text and not _replaced(one[1], words, named)]
        kept.append((each, words))
    return [order for order, _ in kept]


def _named(text: str) -> frozenset[str]:
    """What it takes the place of, where it says so."""
    match = _REPLACES.search(text)
    return content(match[1] or match[2] or "") if match else frozenset()


def _replaced(old: frozenset[str], new: frozenset[str], named: frozenset[str]) -> bool:
    """By the same again, in so many words; or by one that names it."""
    if not old:
        return False
    again = len(old & new) >= 0.8 * len(old) and all(word in new for word in old if word.isdecimal())
    return again or (bool(named) and len(named & old) >= max(1, len(named) // 2))


def content(text: str) -> frozenset[str]:
    return frozenset(word for word in map(str.lower, _WORD.findall(text)) if word not in _COMMON)


def uncovered(found: Sequence[Order], items: Sequence[Item]) -> list[Order]:
    """Those that no item covers: by most of its words, or by some of them and its message as a source."""
    held = [(content(f"{item.text} {item.quote}"), item.sources) for item in items]
    return [one for one in standing(found) if not any(_covers(one, words, ids) for words, ids in held)][-_MOST:]


def _covers(order: Order, words: frozenset[str], sources: Sequence[str]) -> bool:
    wanted = content(order.text)
    share = len(wanted & words) / len(wanted) if wanted else 1.0
    return share >= 0.6 or (share >= 0.3 and order.source in sources)
