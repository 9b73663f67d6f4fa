"""A topic holds one choice or one number: a later statement that fills it otherwise takes the earlier one's place."""

from __future__ import annotations

import re

from dagentd.model.compaction.local import asking, changes, phrases
from dagentd.model.compaction.local.chunks import spelt_out
from dagentd.model.compaction.local.counting import BARE, counts, names, numbers, renumbered
from dagentd.model.compaction.local.statements import Statement
from dagentd.model.compaction.local.subjects import Words, is_place, subject, words
from dagentd.model.compaction.local.topics import IDLE, beside, clauses, common_topic, shared_topic, topics

_TOGETHER = re.compile(r"[.?!]\s\S")  # sentences stand together because one has the topic and one the choice
_BAN = re.compile(r"^\W*(?:(?:and|please|pls|also)\s+)*(?:do not|don['’]?t|never|no|avoid|stop|let['’]?s not)\b")

# What everything else is a part of: nobody chooses one thing for it, and much is said of it.
_WHOLE = words(
    "project code app application repo repository file folder directory page site website system program software"
    " feature task work part team user data change version step implementation product module component md"
)


def on_topic(new: Statement, old: str) -> float:
    """How sure it is that both fill the same slot, and differently; 0 where one of them fills none."""
    topic = shared_topic(new.text, old) or (common_topic(new.text, old) if new.marker else frozenset())
    if not topic or (_is_beside(topic, new.text) and _is_beside(topic, old)):
        return 0.0
    counted = numbers(new.text) or numbers(old) or counts(new.text, topic) != counts(old, topic)
    if counted and not (names(new.text, topic) and names(old, topic)):
        return renumbered(new, old, topic)
    return max(_named(new, old, topic), _rechosen(new, old, topic))


def _is_beside(topic: Words, text: str) -> bool:
    """It has these words, and is about something else."""
    return any(topic.isdisjoint(each) for each in topics(text).sure)


def retold(new: Statement, old: str) -> bool:
    """It has the topic and what was chosen for it, and another choice: whoever reads it needs no other.
    What was chosen may stand in the sentence beside it: `Legal said no to Avro. So protobuf for the wire format.`"""
    topic = common_topic(new.text, old)
    if not topic or (topic <= _WHOLE and new.marker < 2):
        return False
    one, other, near = subject(new.text), subject(old), words(new.around)
    given = (each.value.stems for each in topics(old).filled if not each.value.counts)
    names = (one.names | other.names | subject(new.around).names).union(*given)
    chosen = (other.content & names) - topic - IDLE
    if not chosen and new.marker > 1:
        chosen = other.content - topic - IDLE
    return bool(chosen & (one.content | near) and one.content - other.content - topic - near - IDLE)


def _rechosen(new: Statement, old: str, topic: Words) -> float:
    """It says that something changes, or only says something else."""
    place = is_place(subject(new.text).names)
    if place != is_place(subject(old).names) or (place and not new.marker):
        return 0.0
    # What changed something is a choice as well; so is what somebody changes, if that is surely about the same.
    plainly = 2 if changes.turns(old.lower()) else int(new.marker > 1 and len(topic) > 1)
    if not fills(old, topic, plainly):
        return 0.0
    if not (new.rejected or new.dropped or fills(new.text, topic, new.marker)):
        return 0.0
    if topic <= _WHOLE and not (new.marker > 1 or _same_but_one(new.text, old, topic)):
        return 0.0
    if not new.marker and _done_otherwise(new.text, old, topic):
        return 0.0
    gives = _gives(new.text, topic)
    if False in (gives, _gives(old, topic)) or not (new.marker or gives or subject(new.text).names - topic):
        return 0.0
    return BARE + 0.05 * new.marker


def _done_otherwise(new: str, old: str, topic: Words) -> bool:
    """`labels are printed in German`, `labels are kept in Excel`: each says something else of them."""
    verbs = [each.verb or (() if each.value.ends or each.sure > 1 else each.value.stems)
             for each in (topics(text).filling(topic, 1) for text in (new, old)) if each is not None]  # fmt: skip
    return len(verbs) == 2 and all(verbs) and verbs[0] != verbs[1]


def _same_but_one(new: str, old: str, topic: Words) -> bool:
    """Both give a name, or say the same in all but what they give: `format the code with tabs`."""
    one, two = topics(new).filling(topic), topics(old).filling(topic)
    if one is None or two is None or max(len(one.value.stems), len(two.value.stems)) > 2:
        return False
    first, second = beside(new, topic).difference(one.value.stems), beside(old, topic).difference(two.value.stems)
    return (one.value.named and two.value.named) or first == second


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
