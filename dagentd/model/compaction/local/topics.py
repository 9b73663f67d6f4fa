"""What a statement is about: the phrases in it that get a value, or else whatever it may speak of."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from dagentd.model.compaction.local.chunks import Phrase, chunks
from dagentd.model.compaction.local.fillings import SUBJECT, Filling, fillings
from dagentd.model.compaction.local.subjects import Words, words

# Of a decision these say nothing: neither what it is about nor what was chosen.
IDLE = words(
    "job trick way replacement successor alternative answer winner pick solution option comes choice better best fit"
    " idea destination home status accepted approved result verdict conclusion happy fine good right sure final end"
    " story question matter case deal period done time years day week simple easy clear great thanks cheers promise"
    " sort sorted point call thing one trouble mistake mind light go sense favourite preference name official given"
    " exceptions next"
)
_CLAUSE = re.compile(r"[,;—–]\s|\s\(|\s(?:but|so|because|since|while|and not|aber|weil|pero|mais)\s")

# Why it is so, which many things have in common: `, it is the only one with Windows support`.
_REMARK = re.compile(r"(?<=\w), (?:it|that|they|this)(?:['’]s| is| are| was| has| does| have)\b[^.;]*", re.IGNORECASE)


@dataclass(frozen=True)
class Topics:
    """`filled` are those that get a value, `marked` stand after an article or after `for`, `spoken` are these and what
    stands before a colon or an `is`. `stems` are all the words there are."""

    filled: tuple[Filling, ...]
    marked: frozenset[Phrase]
    spoken: frozenset[Phrase]
    stems: Phrase

    @property
    def main(self) -> frozenset[Phrase]:
        """What it is about: what gets a value, else whatever may be meant."""
        return frozenset(each.topic for each in self.filled) or self.spoken

    def shared(self, other: Topics) -> Words:
        """The words of a phrase that both speak of. Where both surely fill one, these must be the same; else of a
        single word both must speak as a topic."""
        if self.sure and other.sure:
            pairs = [(one, two) for one in self.sure for two in other.sure if _same(one, two)]
            return max((frozenset(one) & frozenset(two) for one, two in pairs), key=len, default=frozenset())
        for one, two in ((self, other), (other, self)):
            for phrase in sorted(one.main, key=lambda each: (-len(each), each)):
                if any(_equal(phrase, each) for each in two.main) or (len(phrase) > 1 and _within(phrase, two.stems)):
                    return frozenset(phrase)
        return frozenset()

    @property
    def plain(self) -> bool:
        """Whether it surely says what it is about: `the file storage is sorted: MinIO` does not."""
        first = self.stems[: max((len(each.topic) for each in self.filled), default=0)]
        leads = (each.topic in self.marked or first[: len(each.topic)] == each.topic for each in self.filled)
        return any(sure and each.sure > SUBJECT - 1 for sure, each in zip(leads, self.filled, strict=True))

    @property
    def sure(self) -> list[Phrase]:
        return [each.topic for each in self.filled if each.sure > SUBJECT]

    def filling(self, topic: Words, sure: int = 2) -> Filling | None:
        """What it gives the topic: a number rather than a name, a name rather than anything else."""
        found = [each for each in self.filled if each.sure >= sure and topic <= frozenset(each.topic)]
        return max(found, key=lambda each: (each.value.counts, each.value.named), default=None)


@lru_cache(maxsize=4096)
def topics(text: str) -> Topics:
    said = chunks(text)
    rated = [each for each in fillings(said) if not IDLE.issuperset(each.topic)]
    best = max((each.sure for each in rated), default=0)
    filled = tuple(each for each in rated if each.sure == best)
    after = (chunk for chunk in said if re.search("[DFS]", chunk.before) and not chunk.value)
    marked = {chunk.stems for chunk in after if not IDLE.issuperset(chunk.stems)}
    told = {one.stems for one, two in pairwise(said) if re.match("X*[KC]", two.before) and not one.value}
    stems = tuple(each for chunk in said for each in chunk.stems)
    if best < 2:  # a guess: rather what is surely spoken of than a verb
        filled = tuple(sorted(filled, key=lambda each: each.topic not in marked)[:1])
    return Topics(filled, frozenset(marked), frozenset(marked | told), stems)


def shared_topic(one: str, other: str) -> Words:
    return topics(one).shared(topics(other))


def common_topic(one: str, other: str) -> Words:
    """Whatever each makes of it: a phrase that one speaks of and the other has too; of a single word, both speak."""
    first, second = (topics(_REMARK.sub("", text)) for text in (one, other))
    either = (phrase for phrase in first.main | second.main if len(phrase) > 1)
    both = {phrase for phrase in either if _within(phrase, first.stems) and _within(phrase, second.stems)}
    return frozenset(max(both or first.main & second.main, key=lambda each: (len(each), each), default=()))


def apart(one: str, other: str) -> bool:
    """Each says what it is about, and it is not the same."""
    first, second = topics(one), topics(other)
    return first.plain and second.plain and not first.shared(second) and len(common_topic(one, other)) < 2


def _same(one: Phrase, two: Phrase) -> bool:
    short, long = sorted((one, two), key=len)
    return _equal(one, two) or (len(short) > 1 and _within(short, long))


def _equal(one: Phrase, two: Phrase) -> bool:
    """Also `hash passwords` and `password hashing`."""
    return one == two or frozenset(one) == frozenset(two)


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
