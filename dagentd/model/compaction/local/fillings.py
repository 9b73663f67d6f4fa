"""Which phrase of a sentence gets a value from which other.

`NATS for the event bus`, `event bus: NATS`, `the event bus is NATS`, `run the event bus on NATS` say the same of one
phrase; the small words between two phrases tell which of them is the topic. Their codes are in `chunks`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dagentd.model.compaction.local.chunks import Chunk, Phrase

SUBJECT = 2  # how sure it is of `the page is closed`


@dataclass(frozen=True)
class Filling:
    """A topic and what it gets; `sure` is 1 to 3, `behind` whether the value stands behind the topic, `verb` what is
    done with it there."""

    topic: Phrase
    value: Chunk
    sure: int
    behind: bool = True
    verb: Phrase = ()


@dataclass(frozen=True)
class _Link:
    """Two phrases, one after the other, and the one before them. `one` may be `used`: a topic that has its value
    already, or `taken`: the value of the phrase before it."""

    before: Chunk | None
    one: Chunk
    two: Chunk
    used: bool
    taken: bool

    @property
    def between(self) -> str:
        return self.two.before


def fillings(chunks: list[Chunk]) -> list[Filling]:
    return _unframed([*_by_verbs(chunks), *_by_links(chunks)])


def _by_verbs(chunks: list[Chunk]) -> Iterator[Filling]:
    """The cache now rests on Redis; the timeout is fixed at 30 s."""
    for one, verb, two in zip(chunks, chunks[1:], chunks[2:], strict=False):
        if one.value or verb.named or len(verb.stems) > 1 or not one.definite:
            continue
        linked = re.fullmatch("X*[UW][XUW]*", two.before) or (two.counts and re.fullmatch("X*", two.before))
        if linked and re.fullmatch("[XC]*", verb.before):
            yield Filling(one.stems, two, 3 if two.named else SUBJECT, verb=verb.stems)


def _by_links(chunks: list[Chunk]) -> Iterator[Filling]:
    last: Filling | None = None
    for before, one, two in zip([None, *chunks], chunks, chunks[1:], strict=False):
        used = last is not None and last.topic == one.stems and not last.behind
        taken = last is not None and last.value is one and "K" in one.before
        link = _Link(before, one, two, used, taken)
        last = _named_for(link) or _told_of(link)
        if last is None and not re.search("[PEKT]", link.between):
            last = _held_by(link) or _counted(link) or _is_or_uses(link)
        if last is not None:
            yield last


def _named_for(link: _Link) -> Filling | None:
    """Redis for the cache; dates are stored as timestamps; Redis. That is what we want for the cache, so that is
    our cache; Redis. Yes, for the cache; swap one for
    another in the cache."""
    one, two, between = link.one, link.two, link.between
    if re.search("C.*S", between) and not one.value:
        return Filling(one.stems, two, 3)
    if re.fullmatch("ED?X*C[DX]*[FS]D?|X*[PE]X*DCD" + ("" if one.before else "|EX*P?[FS]D"), between):
        return Filling(two.stems, one, 3, behind=False)
    if re.search("[FS]", between) and not re.search("[EK]", between) and not two.value:
        return Filling(two.stems, one, 3 if "D" in between or one.counts else 2, behind=False)
    if re.search("[UW].*D", between) and re.search("[FSW][^D]*$", one.before):
        return Filling(two.stems, one, 3, behind=False)
    return None


def _told_of(link: _Link) -> Filling | None:
    """Cache: Redis; for the cache, we take Redis; about the cache, it is Redis."""
    one, two = link.one, link.two
    told = two.named or two.counts or two.ends or len(two.stems) == 1  # else it only leads up to what comes
    if not one.value and (("K" in link.between and not link.taken and told) or ("F" in one.before and not link.used)):
        return Filling(one.stems, two, 3)
    if re.fullmatch("PX*C", link.between) and one.definite:
        return Filling(one.stems, two, 2)
    return None


def _held_by(link: _Link) -> Filling | None:
    """Redis powers the cache, Redis is our cache, Redis on the cache."""
    one, two, between = link.one, link.two, link.between
    bare = not one.before and not two.one_of_many and re.fullmatch("X*CX*DX*", between)  # a capital shows nothing there
    if not (one.named or bare) or one.counts or one.definite or two.value or "D" not in between:
        return None
    if re.search("[CUW]", between):
        return Filling(two.stems, one, 3, behind=False)
    return None if one.value else Filling(two.stems, one, 2, behind=False)  # without a verb it is only a time


def _counted(link: _Link) -> Filling | None:
    """A timeout of 30 s; the batch size in the index is 20, which is no size of the index."""
    one, two, before = link.one, link.two, link.before
    if one.value or not two.counts or not re.fullmatch("[XCUWS]*D?", link.between):
        return None
    if before is not None and "W" in one.before:
        return Filling((*before.stems, *one.stems), two, 3) if before.definite else None
    return Filling(one.stems, two, 3) if len(one.stems) > 1 or one.definite else None


def _is_or_uses(link: _Link) -> Filling | None:
    """The cache is Redis, the cache uses Redis, build the cache on Redis."""
    one, two, between = link.one, link.two, link.between
    if one.value or not re.search("[CUW]", between) or not _heads(one, between):
        return None
    plain = SUBJECT if "U" in between or ("C" in between and one.definite) else 1
    return Filling(one.stems, two, 3 if two.named else plain)


def _heads(chunk: Chunk, between: str) -> bool:
    """It is what the clause speaks of, and no part of that: `dates on the page are ISO` says nothing of the page."""
    if "C" in between:
        return "W" not in chunk.before
    first = chunk.before[-1:] in "DKPE" if chunk.before else len(chunk.stems) > 1
    return first and re.match("X*[UW]", between) is not None


def _unframed(found: list[Filling]) -> list[Filling]:
    """Without those whose value has a part in another: the conclusion of a meeting is no topic of its own, nor is who
    a page is closed for."""
    kept: list[Filling] = []
    for at, one in enumerate(found):
        if kept and one.value is kept[-1].value and kept[-1].sure == SUBJECT:
            continue
        later = [other for other in found[at + 1 :] if other.sure > 1]
        if not any(one.value.stems == other.topic or _frames(one, other) for other in later):
            kept.append(one)
    return kept


def _frames(one: Filling, other: Filling) -> bool:
    return one.value is other.value and one.sure != SUBJECT and (one.behind or other.sure >= one.sure)
