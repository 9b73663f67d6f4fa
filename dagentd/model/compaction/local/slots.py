"""A topic holds one choice or one number: a later statement that fills it otherwise takes the earlier one's place."""

from __future__ import annotations

import re

from dagentd.model.compaction.local import asking, changes, phrases
from dagentd.model.compaction.local.statements import Statement
from dagentd.model.compaction.local.subjects import Subject, Words, subject, words
from dagentd.model.compaction.local.topics import beside, shared_topic, topics

_DIGITS = re.compile(r"\d")
_WHATEVER = re.compile(r"(?:what|that|this|it|everything|anything)\b")
_TOGETHER = re.compile(r"[.?!]\s\S")  # sentences stand together because one has the topic and one the choice
_TICKET = re.compile(r"-\d{2,}$")
_BAN = re.compile(r"^\W*(?:(?:and|please|pls|also)\s+)*(?:do not|don['’]?t|never|no|avoid|stop|let['’]?s not)\b")


_BARE = 0.4  # certainty without naming what is replaced: less than anything that shares more


def on_topic(new: Statement, old: str) -> float:
    """How sure it is that both fill the same slot, and differently; 0 where one of them fills none."""
    topic = shared_topic(new.text, old)
    if not topic:
        return 0.0
    one, other = _numbers(new.text), _numbers(old)
    if one or other:
        return _renumbered(new, old, topic, one, other)
    return 0.0 if _forbids(old.lower()) else max(_named(new, old, topic), _rechosen(new, old, topic))


def _numbers(text: str) -> Words:
    return frozenset(value for value in subject(text).values if _DIGITS.search(value))


def _renumbered(new: Statement, old: str, topic: Words, one: Words, other: Words) -> float:
    """It names the earlier number and another, or says that the same thing changes."""
    if not one - other or not other:
        return 0.0
    if other <= one:
        return 1.0
    said, held = (subject(text).units | beside(text, topic) for text in (new.text, old))
    alike = bool(said & held) or not said or not held
    return _BARE + 0.1 if alike and new.marker and (new.chooses or new.marker > 1) else 0.0


def _rechosen(new: Statement, old: str, topic: Words) -> float:
    """It says that something changes, or names another product."""
    one, other = subject(new.text), subject(old)
    if is_place(one.names) != is_place(other.names) or not fills(old, topic):
        return 0.0
    if not (new.rejected or new.dropped or fills(new.text, topic)) or _rejects_another(new, other):
        return 0.0
    if new.marker:
        return _BARE + 0.05 * new.marker
    said, held = beside(new.text, topic), beside(old, topic)
    product = bool(said & one.names) and (bool(held & other.names) or len(held) == 1)
    return _BARE if new.chooses and product and not said & held else 0.0


def _rejects_another(new: Statement, other: Subject) -> bool:
    gone = [words(phrase) for phrase in new.rejected if not _WHATEVER.match(phrase)]
    return any(gone) and not any(each & other.content for each in gone)


def _named(new: Statement, old: str, topic: Words) -> float:
    """It names what was chosen, and something new beside; whoever only says more of it loses nothing by that."""
    held, whole = beside(old, topic), subject(new.text).content - topic
    key = held & subject(old).names or held
    if not key or not whole - held - subject(old).content:
        return 0.0
    return 1.0 if key <= whole or (key & whole and (new.marker or new.rejected)) else 0.0


def is_place(names: Words) -> bool:
    """A path or the number of a ticket: nothing that a product could take the place of."""
    return any("/" in name or _TICKET.search(name) for name in names)


def _forbids(low: str) -> bool:
    return bool(_BAN.search(low) or phrases.FIRM.search(low))


def fills(text: str, topic: Words) -> bool:
    """It says what is to be used for something, rather than what must be or what is to be done."""
    low = text.lower()
    if _forbids(low):
        return False
    if (
        phrases.CHOICE.search(low)
        or phrases.DECIDED.search(low)
        or phrases.LABEL.search(low)
        or phrases.KEYED.match(low)
    ):
        return True
    said = topics(text)
    if _TOGETHER.search(text) or (said.given and changes.turns(low)):
        return True
    if phrases.CONSTRAINT.search(low) or asking.REQUEST.search(low) or asking.DEFERRED.search(low):
        return False
    return bool(subject(text).names) or any(topic == frozenset(phrase) for phrase in said.given | said.valued)
