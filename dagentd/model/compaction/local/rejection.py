"""When a statement speaks against what was chosen and names something else: Kafka is too heavy, so NATS.

It need not say what either is for; whoever reads the earlier one knows."""

from __future__ import annotations

import re

from dagentd.model.compaction.local import changes, meant, phrases
from dagentd.model.compaction.local.chunks import chunks
from dagentd.model.compaction.local.judging import judged
from dagentd.model.compaction.local.statements import Statement
from dagentd.model.compaction.local.subjects import Words, subject, words
from dagentd.model.compaction.local.topics import IDLE, topics

_MOST = 2  # words of a choice that is no name
_MERELY = re.compile(r"\b(?:so|hence|then|please|pls|only|instead|just|the|an?|our|it|is)\b")
_FIRST = re.compile(r"\s(?:and|then)\s")
_HENCE = re.compile(r"\b(?:so|hence|therefore) (?:please )?(?:do|use|take|let['’]?s|we|make|go)\b")
_RULE = re.compile(r"\b(?:must|may|shall|allowed|should)\b")
_GIVEN = re.compile(r"^[^\w]*(?:(?:so|then|and|but|hence|thus|or|just|please|pls|make|do|it|the|a|an|let['’]?s) )*")


def rejects(new: Statement, old: str) -> bool:
    earlier = subject(old)
    if earlier.negative or earlier.values or phrases.FIRM.search(old.lower()):
        return False
    gone = _chosen(old) - IDLE
    named = bool(gone & earlier.names)
    beside = named and not earlier.content <= words(new.around)  # or the earlier one stands there itself
    said = f"{new.text} {new.around}" if beside else new.text
    if not gone or not gone <= words(said) or not (named or _speaks_of(gone, new.text, old)):
        return False
    rest = earlier.content - gone - IDLE
    of_it = [part for part in meant.PARTS.split(said) if words(part) & gone]
    if any(_RULE.search(part) or _of_another_use(part, gone | rest) for part in map(str.lower, of_it)):
        return False
    against = new.marker > 1 or any(changes.AGAINST.search(part.lower()) for part in of_it)
    if not against and named and _HENCE.search(new.low):  # `X has issues with Y, so use Z` is said of X
        against = any(words(part) & rest or gone.issuperset(chunks(part)[0].stems) for part in of_it)
    parts = [each for part in meant.PARTS.split(new.text) for each in dict.fromkeys((part, _FIRST.split(part)[0]))]
    offers = [part for part in parts if _offers(part, gone, earlier.content)]
    return any(rest & words(part) or (against and not topics(part).spoken) for part in offers)


def _speaks_of(gone: Words, text: str, old: str) -> bool:
    """Of what has no name only a phrase of its own does; and what is asked for is work, and chooses nothing."""
    rated = judged(old, "", True)
    return any(gone == frozenset(chunk.stems) for chunk in chunks(text)) and rated is not None and rated[0] != "request"


def _chosen(old: str) -> Words:
    """What its topic gets, else its names, else what it uses."""
    said = topics(old)
    given = [each.value for each in said.filled if each.sure > 1 and not each.value.counts]
    if given:
        return frozenset(max(given, key=lambda value: value.named).stems)
    if names := subject(old).names:
        return names
    used = [chunk.stems for chunk in chunks(old) if chunk.before.endswith("U")]
    last = [chunk.stems for chunk in chunks(old)[-1:] if chunk.before.endswith("W")]
    return frozenset([*used, *last, ()][0])


def _of_another_use(part: str, known: Words) -> bool:
    """`S3 is not for logs` says nothing against S3 for attachments."""
    return any(re.search("F|W.*D", chunk.before) and known.isdisjoint(chunk.stems) for chunk in chunks(part))


def _offers(part: str, gone: Words, known: Words) -> bool:
    """Something else, in words of its own."""
    low, offered = part.lower(), words(part) - known - IDLE
    if words(part) & gone or not offered or subject(part).negative or meant.weighed(low):
        return False
    if offered <= subject(f"- {_GIVEN.sub('', part)}").names:
        return True
    return len(offered) <= _MOST and _is_choice(part, low)


def _is_choice(part: str, low: str) -> bool:
    if phrases.CHOICE.search(low) or phrases.DECIDED.search(low):
        return not changes.DROPPED.search(low)
    said = chunks(part)
    return any("U" in each.before for each in said) or len(_MERELY.sub("", low).split()) <= _MOST
