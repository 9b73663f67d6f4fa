"""When a statement takes the place of an earlier one: by a word that says so, or by giving the same thing another value."""

from __future__ import annotations

from dagentd.model.compaction.local import phrases
from dagentd.model.compaction.local.statements import Statement
from dagentd.model.compaction.local.subjects import Subject, Weight, Words, containment, likeness, subject, words

_SAME = 0.85
_ECHO = 0.8


def repeats(new: Statement, old: str, weight: Weight) -> bool:
    """The same again, or the assistant saying back what it was told."""
    one, other = subject(new.text), subject(old)
    if one.negative != other.negative or not one.values <= other.values:
        return False
    if one.values == other.values and likeness(one.content, other.content, weight) >= _SAME:
        return True
    return not new.by_user and bool(one.content) and containment(one.content, other.content, weight) >= _ECHO


def certainty(new: Statement, old: str, weight: Weight) -> float:
    """How sure it is that `new` reverses `old`: 0 for not at all, over 1 when it names what it rejects."""
    one, other = subject(new.text), subject(old)
    if new.adds:
        return 0.0
    if new.rejected and (hit := _names(new, one, other, weight)):
        return 1.0 + hit
    if _another_value(new, one, other, weight) or _another_choice(new, one, other, weight) or _opposite(one, other, weight):
        return 0.5 + likeness(one.content, other.content, weight) / 2
    return _marked(old, new, one, other, weight) if new.marker > 1 and not new.rejected else 0.0


def _names(new: Statement, one: Subject, other: Subject, weight: Weight) -> float:
    """What it rejects is in the earlier one, and both do not speak of different uses of it."""
    if one.scope and other.scope and not one.scope & other.scope and not other.scope & _all_rejected(new):
        return 0.0
    best = 0.0
    for phrase in new.rejected:
        named = subject(phrase)
        wanted, there = named.content | named.values, other.content | other.values | other.units
        if wanted and containment(wanted, there, weight) >= 0.6:
            best = max(best, 0.2 + likeness(one.content | wanted, other.content, weight))
    return best


def _all_rejected(new: Statement) -> Words:
    return frozenset().union(*map(words, new.rejected))


def _another_value(new: Statement, one: Subject, other: Subject, weight: Weight) -> bool:
    """The timeout is 30 s; the timeout is 45 s. Not: names have 12 characters; names change every 90 days."""
    if not one.values or not other.values or one.values == other.values:
        return False
    if one.units and other.units and not one.units & other.units and not _same_kind(one.units, other.units):
        return False
    if not one.content:
        return False
    if likeness(one.content, other.content, weight) >= 0.7:
        return True
    headed = bool(one.head) and likeness(one.head, other.head, weight) >= 0.9
    return (headed or new.marker > 0) and _inside(one.content, other.content, weight) >= 0.9


_TIMES = frozenset(["ms", "s", "sec", "second", "m", "min", "minut", "h", "hour", "d", "day", "week", "month"])
_SIZES = frozenset(["b", "byt", "kb", "mb", "gb", "tb", "kib", "mib", "gib"])


def _same_kind(units: Words, others: Words) -> bool:
    return any(units & kind and others & kind for kind in (_TIMES, _SIZES))


def _another_choice(new: Statement, one: Subject, other: Subject, weight: Weight) -> bool:
    """Redis for the cache; Memcached for the cache. What is chosen must be as short as a name."""
    if one.negative or other.negative or not new.chooses or one.values or other.values:
        return False
    for about, before in ((one.scope, other.scope), (one.head, other.head)):
        chosen, replaced = one.content - about, other.content - before
        short = 0 < len(chosen) <= 2 and 0 < len(replaced) <= 2 and not chosen & replaced
        if about and short and likeness(about, before, weight) >= 0.9:
            return True
    return False


def _opposite(one: Subject, other: Subject, weight: Weight) -> bool:
    return (
        one.negative != other.negative
        and one.values == other.values
        and len(one.content) > 1
        and likeness(one.content, other.content, weight) >= _SAME
    )


def _marked(old: str, new: Statement, one: Subject, other: Subject, weight: Weight) -> float:
    """It says that something changes, but not what: the smaller of the two must lie mostly in the other, or both choose
    something for the same topic."""
    if not one.content & other.content or bool(one.values) != bool(other.values):
        return 0.0
    inside = _inside(one.content, other.content, weight)
    chosen = new.chooses and not other.negative and bool(phrases.CHOICE.search(old))
    topical = chosen and bool(one.topic) and containment(one.topic, other.content, weight) >= 0.9
    return 0.3 + inside / 2 if inside >= 0.6 or topical else 0.0


def _inside(one: Words, other: Words, weight: Weight) -> float:
    """How much of the smaller lies in the other."""
    return max(containment(one, other, weight), containment(other, one, weight))
