"""What a choice is for: the noun phrases of a statement by which a later one about the same is recognised."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from dagentd.model.compaction.local.subjects import STOP, Words, stem, words

Phrase = tuple[str, ...]

_WORD = re.compile(r"[^\W_][\w+#'’-]*(?:[./][\w+#-]+)*|[^\w\s]")
_FOR, _ARTICLES = "for as about regarding concerning für para pour", "the our my your this its der die das el la le"
_TELL = ": ? = - > → is are will shall should becomes won't isn't won’t isn’t"  # what follows is the value of the topic
_END = "becomes gets sits stays lives needs works points belongs wins question choice issue matter"
_QUALIFY = "new own same other whole main current ` \" ' *"
_NAMED_FOR, _DETERMINED, _TELLING, _ENDS, _QUALIFYING = (
    frozenset(some.split()) for some in (_FOR, _ARTICLES, _TELL, _END, _QUALIFY)
)
_REASON = re.compile(r"\b(?:because|since|weil|porque|parce que)\b[^.;]*")
_CLAUSE = re.compile(r"[,;—–(]\s|\s(?:but|so|because|since|while|and not|aber|weil|pero|mais)\s")


def shared_topic(one: str, other: str) -> Words:
    """Empty where the clauses that have it speak of something else besides, and of different things."""
    topic = topics(one).shared(topics(other))
    if not topic:
        return topic
    apart = [_others(text, topic) for text in (one, other)]
    return frozenset() if all(apart) and not apart[0] & apart[1] else topic


def apart(one: str, other: str) -> bool:
    """Each says what it is about, and it is not the same."""
    first, second = (topics(text).given | topics(text).valued for text in (one, other))
    return bool(first and second) and not frozenset().union(*first) & frozenset().union(*second)


def _others(text: str, topic: Words) -> frozenset[Phrase]:
    having = next((clause for clause in clauses(text) if topic <= words(clause)), "")
    return frozenset(phrase for phrase in topics(having).articled if not topic & frozenset(phrase))


@dataclass(frozen=True)
class Topics:
    """`given` is named after `for`, `as`, `about`, `valued` stands before a colon or an `is`; where none is given, any
    that has an article or a value counts. `stems` are all the words there are."""

    given: frozenset[Phrase]
    valued: frozenset[Phrase]
    articled: frozenset[Phrase]
    stems: Phrase

    @property
    def every(self) -> frozenset[Phrase]:
        return self.given | self.valued | self.articled

    def shared(self, other: Topics) -> Words:
        """The words of a phrase that both speak of; of a single word both must speak as a topic."""
        for one, two in ((self, other), (other, self)):
            for phrase in sorted(one.given or one.valued or one.articled, key=lambda each: (-len(each), each)):
                if phrase in (two.given or two.every) or (len(phrase) > 1 and _within(phrase, two.stems)):
                    return frozenset(phrase)
        return frozenset()


@lru_cache(maxsize=4096)
def topics(text: str) -> Topics:
    given, valued, articled, stems = set(), set(), set(), []
    run: list[str] = []
    begins, opened = True, ""
    for token in [*_WORD.findall(_REASON.sub(" ", text.lower())), "."]:
        if token[0].isalnum() and token not in STOP and token not in _ENDS:
            run.append(stem(token))
            stems.append(run[-1])
            continue
        if run:
            phrase = tuple(run[:4])
            if opened in _NAMED_FOR:
                given.add(phrase)
            if (opened or begins) and token in _TELLING:
                valued.add(phrase)
            if opened:
                articled.add(phrase)
            run, begins, opened = [], False, ""
        if token in _NAMED_FOR or (token in _DETERMINED and opened not in _NAMED_FOR):
            opened = token
        elif token not in _DETERMINED and token not in _QUALIFYING:
            opened, begins = "", begins or token in ".,;!?"
    return Topics(frozenset(given), frozenset(valued), frozenset(articled), tuple(stems))


def _within(part: Phrase, whole: Phrase) -> bool:
    size = len(part)
    return any(whole[at : at + size] == part for at in range(len(whole) - size + 1))


def clauses(text: str) -> list[str]:
    return [clause for clause in _CLAUSE.split(text) if clause.strip()]


def beside(text: str, topic: Words) -> Words:
    """What the clause that has the topic says of it: the choice, without reasons and what was said before."""
    each = [words(clause) for clause in clauses(text)]
    core = [clause - topic for clause in each if topic <= clause]
    return next((clause for clause in core if clause), words(text) - topic)
