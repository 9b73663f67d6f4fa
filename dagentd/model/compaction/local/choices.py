"""When two statements choose different things for the same topic."""

from __future__ import annotations

from dagentd.model.compaction.local import phrases
from dagentd.model.compaction.local.statements import Statement
from dagentd.model.compaction.local.subjects import Subject, Weight, Words, is_place, likeness, subject


def another_choice(new: Statement, old: str, one: Subject, other: Subject, weight: Weight) -> bool:
    """Redis for the cache; Memcached for the cache. What both share is the topic, what they do not are the choices."""
    if one.negative or other.negative or not is_choice(old) or not (new.chooses or new.marker):
        return False
    if one.values or other.values:
        return False
    topic = one.content & other.content
    chosen, replaced = one.content - topic, other.content - topic
    spoken_of = one.scope | one.head
    if one.scope and other.scope and one.scope & other.scope and likeness(one.scope, other.scope, weight) < 0.4:
        return False
    if not topic or not chosen or not replaced or (len(spoken_of) > 1 and not spoken_of & topic):
        return False
    if new.marker < 2 or _same_slot(one, other, weight):
        return _same_slot(one, other, weight)
    beside = min(len(chosen - one.names), len(replaced - other.names))
    if not (chosen & one.names and replaced & other.names):
        return len(topic) >= 2 and _short(chosen, one) and _short(replaced, other)
    return is_place(chosen & one.names) == is_place(replaced & other.names) and (
        beside == 0 or len(topic) >= max(2, beside)
    )


def _short(side: Words, of: Subject) -> bool:
    return bool(side & of.names) or len(side) <= 2


def _same_slot(one: Subject, other: Subject, weight: Weight) -> bool:
    """Without a word that says so: the same use, or the same subject, and what is chosen no longer than a name."""
    for about, before in ((one.scope, other.scope), (one.head, other.head)):
        chosen, replaced = one.content - about, other.content - before
        if not about or not chosen or not replaced or chosen & replaced or likeness(about, before, weight) < 0.9:
            continue
        if is_place(chosen) != is_place(replaced):
            continue
        if (about is one.scope and len(chosen) == 1 == len(replaced)) or (
            chosen <= one.names and replaced <= other.names
        ):
            return True
    return False


def is_choice(old: str) -> bool:
    low = old.lower()
    if phrases.FIRM.search(low):
        return False
    return bool(
        phrases.CHOICE.search(low) or phrases.LABEL.search(low) or phrases.KEYED.match(low) or subject(old).names
    )
