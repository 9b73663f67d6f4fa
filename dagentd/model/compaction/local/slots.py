"""A topic holds one choice or one number: a later statement that fills it otherwise takes the earlier one's place."""

from __future__ import annotations

import re

from dagentd.model.compaction.local import asking, changes, phrases
from dagentd.model.compaction.local.chunks import spelt_out
from dagentd.model.compaction.local.statements import Statement
from dagentd.model.compaction.local.subjects import Subject, Words, is_place, subject, words
from dagentd.model.compaction.local.topics import IDLE, beside, clauses, common_topic, shared_topic, topics

_DIGITS = re.compile(r"\d")
_TOGETHER = re.compile(r"[.?!]\s\S")  # sentences stand together because one has the topic and one the choice
_BAN = re.compile(r"^\W*(?:(?:and|please|pls|also)\s+)*(?:do not|don['’]?t|never|no|avoid|stop|let['’]?s not)\b")
_BARE = 0.4  # certainty without naming what is replaced: less than anything that shares more


def on_topic(new: Statement, old: str) -> float:
    """How sure it is that both fill the same slot, and differently; 0 where one of them fills none."""
    topic = shared_topic(new.text, old) or (common_topic(new.text, old) if new.marker else frozenset())
    if not topic:
        return 0.0
    one, other = _numbers(new.text), _numbers(old)
    if one or other or _counted(new.text, topic) != _counted(old, topic):
        return _renumbered(new, old, topic, one, other)
    return max(_named(new, old, topic), _rechosen(new, old, topic))


def retold(new: Statement, old: str) -> bool:
    """It has the topic and what was chosen for it, and another choice: whoever reads it needs no other.
    What was chosen may stand in the sentence beside it: `Legal said no to Avro. So protobuf for the wire format.`"""
    topic = common_topic(new.text, old)
    if not topic:
        return False
    one, other, near = subject(new.text), subject(old), words(new.around)
    given = (each.value.stems for each in topics(old).filled)
    names = (one.names | other.names | subject(new.around).names).union(*given)
    chosen = (other.content & names) - topic - IDLE
    if not chosen and new.marker > 1:
        chosen = other.content - topic - IDLE
    return bool(chosen & (one.content | near) and one.content - other.content - topic - near - IDLE)


def _counted(text: str, topic: Words) -> bool:
    filling = topics(text).filling(topic)
    return filling is not None and filling.value.counts


def _counted_for(text: str, topic: Words) -> Words:
    """5 rows per run: what is counted each time; the same for all that say nothing of that."""
    filling = topics(text).filling(topic)
    return frozenset(filling.value.stems[2:] if filling else ()) or frozenset([""])


def _numbers(text: str) -> Words:
    return frozenset(value for value in subject(text).values if _DIGITS.search(value))


def _renumbered(new: Statement, old: str, topic: Words, one: Words, other: Words) -> float:
    """It names the earlier number and another, or gives another of the same unit."""
    if not one - other or not other:
        return 0.0
    if other <= one:
        return 1.0
    if _counted(new.text, topic) and _counted(old, topic):
        same = subject(new.text).units & subject(old).units
        if _counted_for(new.text, topic).isdisjoint(_counted_for(old, topic)):
            return 0.0
        return _BARE + 0.2 if same or (new.marker and comparable(subject(new.text), subject(old))) else 0.0
    said, held = (subject(text).units | beside(text, topic) for text in (new.text, old))
    alike = bool(said & held) or not said or not held
    return _BARE + 0.1 if alike and new.marker and (new.chooses or new.marker > 1) else 0.0


def _rechosen(new: Statement, old: str, topic: Words) -> float:
    """It says that something changes, or only says something else."""
    place = is_place(subject(new.text).names)
    if place != is_place(subject(old).names) or (place and not new.marker):
        return 0.0
    if not fills(old, topic, 2 if changes.turns(old.lower()) else 0):  # what changed something is a choice as well
        return 0.0
    if not (new.rejected or new.dropped or fills(new.text, topic, new.marker)):
        return 0.0
    gives = _gives(new.text, topic)
    if False in (gives, _gives(old, topic)) or not (new.marker or gives or subject(new.text).names - topic):
        return 0.0
    return _BARE + 0.05 * new.marker


def _gives(text: str, topic: Words) -> bool | None:
    """Whether what it gives the topic is a choice: a name, or a word or two; None where that is not sure."""
    filling = topics(text).filling(topic)
    if filling is None:
        return None
    value = filling.value
    if value.named or not filling.behind or (len(value.stems) <= 2 and value.ends):
        return True
    return None if phrases.CHOICE.search(spelt_out(text).lower()) else False


def _named(new: Statement, old: str, topic: Words) -> float:
    """It names what was chosen, and something new beside; whoever only says more of it loses nothing by that."""
    held, whole = beside(old, topic), subject(new.text).content - topic
    key = held & subject(old).names or held
    if not key or not whole - held - subject(old).content:
        return 0.0
    return 1.0 if key <= whole or (key & whole and (new.marker or new.rejected)) else 0.0


def _forbids(low: str) -> bool:
    return bool(_BAN.search(low) or phrases.FIRM.search(low))


def fills(text: str, topic: Words, marker: int = 0) -> bool:
    """It says what is to be used for something, rather than what must be or what is to be done."""
    low, filling = spelt_out(text).lower(), topics(text).filling(topic, 1 if marker else 2)
    if _TOGETHER.search(text):
        return True
    told = next((clause for clause in clauses(low) if topic <= words(clause)), low)
    if _forbids(told):
        return False
    if filling is not None and (filling.value.named or not filling.behind):
        return not _is_work(low) or filling.value.named
    if _is_work(low):
        return False
    if marker > 1 or phrases.CHOICE.search(low) or phrases.DECIDED.search(low) or phrases.LABEL.search(low):
        return True
    return bool(filling is not None or subject(text).names) and not phrases.CONSTRAINT.search(told)


def _is_work(low: str) -> bool:
    """It asks for something to be done, and not by what."""
    if asking.DEFERRED.search(low):
        return True
    return bool(asking.REQUEST.search(low)) and not (changes.turns(low) or asking.MEANS.search(low))


_TIMES = frozenset(["ms", "s", "sec", "second", "m", "min", "minut", "h", "hour", "d", "day", "week", "month"])
_SIZES = frozenset(["b", "byt", "kb", "mb", "gb", "tb", "kib", "mib", "gib"])


def comparable(one: Subject, other: Subject) -> bool:
    """Numbers of rows and of requests have nothing to do with each other; neither have two reviews and a quota."""
    if one.units & other.units or any(one.units & kind and other.units & kind for kind in (_TIMES, _SIZES)):
        return True
    if one.units and other.units:
        return False
    spoken = {unit for unit in one.units | other.units if len(unit) > 3}
    return not spoken - one.content - other.content
