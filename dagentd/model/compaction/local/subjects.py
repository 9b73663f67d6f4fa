"""What a statement is about: its salient words, its values, its scope; and how much two statements share of that."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

Weight = Callable[[str], float]
Words = frozenset[str]

_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_TOKEN = re.compile(
    rf"[{_CJK}]+|[^\W_{_CJK}](?:[^\s{_CJK}\"'`(){{}}\[\]<>,;!?*=|]|(?<=\w)['’](?=\w))*"
    r"|[/~.@#$€£][^\s\"'`(){},;!?*]+"
)
_NUMBER = re.compile(r"[~#$€£]?v?\d[\d.,:_]*(?:%|[a-zµ]{1,4}(?:/[a-z]{1,4})?)?$", re.IGNORECASE)
_UNIT = re.compile(r"[^\d.,:_~#$€£v]+$")
_SCOPE = re.compile(r"\b(?:for|as|in|on|inside|within|during|when|für|para|pour|dans)\s+([^,;:—–(]+)", re.IGNORECASE)
_FIRST_SCOPE = re.compile(
    r"(?:^(?:for|in|on|as for|für|para|pour)|\b(?:about|regarding|concerning))\s+"
    r"(.{2,60}?)(?:[,:;.]|$|\s(?:we|let['’]s|use|I|it)\b)",
    re.IGNORECASE,
)
_COPULA = re.compile(
    r"\s(?:(?:will|should|must|shall|has to|have to|needs to|is going to|are going to|is to)\s)?(?:is|are|was"
    r"|be|becomes?|stays?|equals|to|at|uses?|runs? on|goes|gets"
    r"|lives in|ist|sind|es|est|sont|son)\s(?:(?:now|still|set|fixed|limited|capped|going to use)\s)?|\s?(?:="
    r"|:|：|是|为)\s?"
)
_NAME = re.compile(
    r"(?<=[^.!?] )[A-Z][\w.+#-]*|^[A-Z][\w.+#-]*(?= it is\b)|\b\w*[a-z][A-Z]\w*|`[^`]+`"
    r"|\b\w*\d\w*|\b[\w-]+[_/.]\w[\w./-]*"
)
_NEGATIVE = re.compile(
    r"\b(?:not|never|no|none|without|avoid|don['’]?t|doesn['’]?t|won['’]?t|mustn['’]?t|shouldn['’]?t|cannot"
    r"|can['’]?t|stop|forbidden"
    r"|nicht|kein\w*|nie|niemals|jamais|pas|nunca|sin|ne)\b|不|别|禁止|ない|しない",
    re.IGNORECASE,
)
_TICKET = re.compile(r"-\d{2,}$")
ORDINALS = re.compile(
    r"(?:modul|task|step|phas|iteration|issu|ticket|item|batch|section|part|servic|worker|team|sprint|option"
    r"|milestone|layer|stag|lesson|chapter|rul"
    r"|decision|round|shard|day|week|topic|component|featur)$"
)
_MEASURED = "ms s sec seconds min minutes h hours days kb mb gb tb px % percent"
_MEASURES = frozenset(_MEASURED.split())  # `worker 3` is one of them, `worker 3 MB` what it gets
_COUNTED = "two three four five six seven eight nine ten eleven twelve fifteen twenty thirty fifty hundred"
COUNTS = frozenset(_COUNTED.split())
_STOP = """
a about above actually after again all also always an and any anymore are as at be because been before but by can
cannot change changed come could decide decided decision did do does doing done don't dont each every everything few
finally fix for forget from get go goes going good got had has have having he her here him his how however i i'd
i'll i'm i've if in instead into is it it's its just keep let let's lets like longer ma make makes making may me
mind more most much must my need needs never new no nor not now of off ok okay on once one only onto or other our
out over own per plan please prefer rather really remember same say said scrap second set shall she should so some
still stick stop such sure switch than that that's the their them then there these they thing things this those
thought through to too under until up us use used uses using very via wait want was we we'll we're we've were what
when where which while who whole why will with without won't would yes yet you you're your constraint requirement
rule note important plans reverting revert back drop settle settled chose choose chosen pick agreed agree least max
maximum min minimum allowed put store stored stores place save host move moved moves moving message take takes run
runs adopt pls call work build built power powered sign signed base correction update today tomorrow yesterday
earlier later already currently end btw anyway thx gets sits live lives says wants am across against along although
among around away
behind beside besides between both despite either else hence neither nope off therefore though thus toward towards
above below beneath beyond during except near past throughout till exceed exceeds
starting unless upon whereas whether within anything something nothing everyone someone nobody anyone
der die das den dem ein eine einen und oder wir nicht ist sind für auf im zu von
es soll sollen muss müssen bitte statt nutzen verwenden verwende nutze immer nie el la los las un una y o de del en
con para son que se debe deben usar usa siempre nunca le les et ou du des dans avec pour ne pas est sont il faut
utiliser utilise toujours jamais nous
"""
STOP = frozenset(_STOP.split())


@dataclass(frozen=True)
class Subject:
    """`values` are numbers, `units` what they count, `head` the words before the verb that gives a value,
    `names` those that are written like one."""

    content: Words
    values: Words
    units: Words
    scope: Words
    head: Words
    names: Words
    negative: bool

    @property
    def topic(self) -> Words:
        return self.scope or self.head


@lru_cache(maxsize=4096)
def subject(text: str) -> Subject:
    content, values, units = _parts(text)
    scoped = _FIRST_SCOPE.search(text) or _SCOPE.search(text)
    parts = _COPULA.split(text, maxsplit=1)
    return Subject(
        content,
        values,
        units,
        words(scoped[1]) if scoped else frozenset(),
        words(parts[0]) if len(parts) > 1 else frozenset(),
        words(" ".join(_NAME.findall(text))),
        bool(_NEGATIVE.search(text)),
    )


def words(text: str) -> Words:
    return _parts(text)[0]


def _parts(text: str) -> tuple[Words, Words, Words]:
    content: list[str] = []
    values, units, last = set(), set(), ""
    tokens = list(_tokens(text))
    for token, following in zip(tokens, [*tokens[1:], ""], strict=False):
        counted = bool(_NUMBER.match(token)) or token in COUNTS
        if counted and (following in _MEASURES or not ORDINALS.search(last)):
            values.add(token)
            units.update(_UNIT.findall(token))
        elif counted or token not in STOP:
            content.append(token if counted else stem(token))
            if last in values:
                units.add(content[-1])
        last = token if counted else stem(token)
    return frozenset(content) - units, frozenset(values), frozenset(units)


def _tokens(text: str) -> Iterator[str]:
    for token in _TOKEN.findall(text):
        if token[0] > "\u3000":
            yield from (token[at : at + 2] for at in range(max(1, len(token) - 1)))
        else:
            yield token.strip("~").rstrip(".:,-/'’…").lower().removesuffix("'s").removesuffix("’s") or token


@lru_cache(maxsize=16384)
def stem(word: str) -> str:
    """Crude on purpose: cache, cached and caching are one word; a path or a name with digits is left as it is."""
    if len(word) < 4 or not word.isalpha():
        return word
    for ending in ("ings", "ing", "ies", "ied", "ed", "es", "s", "e", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def is_place(names: Words) -> bool:
    """A path or the number of a ticket: nothing that a product could take the place of."""
    return any("/" in name or _TICKET.search(name) for name in names)


def mass(some: Iterable[str], weight: Weight) -> float:
    """Summed exactly: the order of a set differs from run to run, and equal input must give equal output."""
    return math.fsum(map(weight, some))


def likeness(one: Words, other: Words, weight: Weight) -> float:
    """The weight of what both have, of the weight of what either has."""
    return _ratio(mass(one & other, weight), mass(one | other, weight))


def containment(part: Words, whole: Words, weight: Weight) -> float:
    return _ratio(mass(part & whole, weight), mass(part, weight))


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
