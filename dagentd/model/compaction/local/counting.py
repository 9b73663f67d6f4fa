"""When a statement gives another number for the same: by its unit, or because it names the earlier one."""

from __future__ import annotations

import calendar
import re

from dagentd.model.compaction.local.statements import Statement
from dagentd.model.compaction.local.subjects import Subject, Words, stem, subject
from dagentd.model.compaction.local.topics import IDLE, beside, topics

_DIGITS = re.compile(r"\d")
_TIMES = frozenset(["ms", "s", "sec", "second", "m", "min", "minut", "h", "hour", "d", "day", "week", "month"])
_SIZES = frozenset(["b", "byt", "kb", "mb", "gb", "tb", "kib", "mib", "gib"])
_MONTHS = frozenset(stem(name.lower()) for name in calendar.month_name[1:])
_KINDS = (_TIMES, _SIZES, _MONTHS)
BARE = 0.4  # certainty without naming what is replaced: less than anything that shares more


def counts(text: str, topic: Words) -> bool:
    filling = topics(text).filling(topic)
    return filling is not None and filling.value.counts


def numbers(text: str) -> Words:
    return frozenset(value for value in subject(text).values if _DIGITS.search(value))


def names(text: str, topic: Words) -> bool:
    """What it gives the topic; a number behind it is a part of the name: `Apache 2.0`."""
    filling = topics(text).filling(topic)
    return filling is not None and filling.value.named and not filling.value.counts


def renumbered(new: Statement, old: str, topic: Words) -> float:
    """It names the earlier number and another, or gives another of the same unit."""
    one, other = numbers(new.text), numbers(old)
    if not one - other or not other:
        return 0.0
    if other <= one:
        return 1.0
    if counts(new.text, topic) and counts(old, topic):
        same = bool(subject(new.text).units & subject(old).units)
        if _counted_for(new.text, topic).isdisjoint(_counted_for(old, topic)):
            return 0.0
        same = same or _of_one(new.text, old)
        return BARE + 0.2 if same or (new.marker and comparable(subject(new.text), subject(old))) else 0.0
    said, held = (subject(text).units | beside(text, topic) for text in (new.text, old))
    alike = bool(said & held) or not said or not held
    return BARE + 0.1 if alike and new.marker and (new.chooses or new.marker > 1) else 0.0


def _of_one(new: str, old: str) -> bool:
    """Numbers without a unit, of what both call the same in more than a word: a port, a version."""
    spoken = (phrase for phrase in topics(new).marked & topics(old).marked if len(phrase) > 1)
    return not subject(new).units | subject(old).units and any(spoken)


def recounts(new: Statement, old: str) -> bool:
    """It changes a number and says only in passing of what: `3 retries of an upload are not enough, make it 5`;
    `actually 90 minutes, people complained about the sessions`."""
    one, other = subject(new.text), subject(old)
    given, held = numbers(new.text), numbers(old)
    common = {word for word in one.content & other.content if len(word) > 2} - IDLE
    if not common or not held or not given - held:
        return False
    if held <= given:
        return new.marker > 0 or bool(one.units & other.units and other.content <= one.content)
    own = any(each.value.counts for each in topics(new.text).filled)
    return new.marker > 1 and not own and len(given) == 1 == len(held) and bool(one.units & other.units)


def comparable(one: Subject, other: Subject) -> bool:
    """Numbers of rows and of requests have nothing to do with each other; neither have two reviews and a quota."""
    if one.units & other.units or any(one.units & kind and other.units & kind for kind in _KINDS):
        return True
    if one.units and other.units:
        return False
    spoken = {unit for unit in one.units | other.units if len(unit) > 3}
    return not spoken - one.content - other.content


def _counted_for(text: str, topic: Words) -> Words:
    """5 rows per run: what is counted each time; the same for all that say nothing of that."""
    filling = topics(text).filling(topic)
    return frozenset(filling.value.stems[2:] if filling else ()) or frozenset([""])
