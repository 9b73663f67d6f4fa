"""When a statement takes the place of an earlier one: by a word that says so, or by another value of the same."""

from __future__ import annotations

from dagentd.model.compaction.local import phrases
from dagentd.model.compaction.local.choices import another_choice, is_choice
from dagentd.model.compaction.local.chunks import unreasoned
from dagentd.model.compaction.local.counting import BARE, comparable, recounts
from dagentd.model.compaction.local.frames import reframes
from dagentd.model.compaction.local.rejection import rejects
from dagentd.model.compaction.local.slots import on_topic, retold
from dagentd.model.compaction.local.statements import Statement
from dagentd.model.compaction.local.subjects import Subject, Weight, Words, containment, likeness, subject, words
from dagentd.model.compaction.local.topics import apart, topics

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
    """How sure it is that `new` takes the place of `old`: 0 for not at all, over 1 when it names what it rejects."""
    one, other = new.about, subject(old)
    if new.adds or not one.content | one.values:
        return 0.0
    if retold(new, old) or rejects(new, old) or recounts(new, old):
        return 1.2
    if apart(new.text, old) and not _of_what_goes(new):
        return 0.0
    named = _names(new, old, one, other, weight)
    if named >= 1:
        return named
    if (sure := on_topic(new, old)) > 0:
        return sure
    if reframes(new, old):
        return BARE
    bare = subject(unreasoned(new.text)), subject(unreasoned(old))  # two choices may have one reason
    if _says_more(new, old, one, other, weight) and _says_more(new, old, *bare, weight):
        return 0.9
    alike = likeness(one.content, other.content, weight) / 4
    if one.values and other.values:
        return 0.5 + alike if _another_value(new, one, other, weight) else named
    chosen = another_choice(new, old, one, other, weight) or _opposite(one, other, weight)
    return 0.4 + alike + (0.1 if other.names else 0.0) if chosen else named


def _of_what_goes(new: Statement) -> bool:
    """It is about what it rejects, whatever that was for: `replace Yup by Zod`."""
    gone = frozenset[str]().union(*map(words, new.rejected))
    return any(gone.intersection(each.topic) for each in topics(new.text).filled)


def _names(new: Statement, old: str, one: Subject, other: Subject, weight: Weight) -> float:
    """What it rejects is in the earlier one, and both do not speak of different uses of it."""
    gone = frozenset[str]().union(*map(words, (*new.rejected, *new.dropped)))
    if one.scope and other.scope and not one.scope & other.scope and not other.scope & gone:
        return 0.0
    sure = max((_hit(phrase, one, other, weight) for phrase in new.rejected), default=0.0)
    if sure:
        return 1.0 + sure
    return max((_dropped(phrase, old, one, other, weight) for phrase in new.dropped), default=0.0)


def _hit(phrase: str, one: Subject, other: Subject, weight: Weight) -> float:
    named = subject(phrase)
    wanted, there = named.content | named.values, other.content | other.values | other.units
    if wanted & one.names and not wanted & one.names & there:
        return 0.0  # it names something else
    if not wanted or containment(wanted, there, weight) < 0.6:
        return 0.0
    return 0.2 + likeness(one.content | wanted, other.content, weight)


def _dropped(phrase: str, old: str, one: Subject, other: Subject, weight: Weight) -> float:
    """`Forget the queue, use NATS` rejects no queue but what was chosen for it: what may be a topic counts only against
    a choice, and little."""
    hit, wanted = _hit(phrase, one, other, weight), words(phrase)
    on_topic = bool(one.topic) and not one.topic & wanted and bool(one.topic & other.content)
    if hit and (on_topic or wanted & (one.names | other.names) or not one.content - wanted):
        return 1.0 + hit
    chosen = not other.negative and is_choice(old) and bool(one.values) == bool(other.values)
    return hit / 4 if chosen else 0.0


def _says_more(new: Statement, old: str, one: Subject, other: Subject, weight: Weight) -> bool:
    """It has the earlier names or values and the topic in it, and new ones besides: `Kafka did not work out, the queue
    is on NATS.` Whoever only says it in more words loses nothing either."""
    known = other.names | other.values | (one.names & other.content)  # a first word is seen to be a name by the other
    there = one.content | one.values
    more = (one.names | one.values) - other.content - other.values
    topic = (one.content & other.content) - known
    if not known <= there or not more or not topic:
        return False
    if not known:
        return new.marker > 1 and containment(other.content, one.content, weight) >= 0.9
    if new.marker > 1:
        return _inside(one.content - more, other.content, weight) >= 0.6
    return (
        not other.negative
        and not phrases.FIRM.search(old.lower())
        and _inside(topic, other.content - known, weight) >= 0.6
    )


def _another_value(new: Statement, one: Subject, other: Subject, weight: Weight) -> bool:
    """The timeout is 30 s; the timeout is 45 s. Not: names have 12 characters; names change every 90 days."""
    if one.values == other.values or not comparable(one, other):
        return False
    if not one.content:
        return new.marker > 0 and not other.content and bool(one.units & other.units)
    if likeness(one.content, other.content, weight) >= 0.7:
        return True
    if len(other.content) > 1 and other.content <= one.content and one.units & other.units:
        return one.scope <= other.content and len(one.values) == 1 == len(other.values)
    headed = bool(one.head) and likeness(one.head, other.head, weight) >= 0.9
    if (headed or new.marker == 1) and _inside(one.content, other.content, weight) >= 0.9:
        return True
    apart = one.content - other.content and other.content - one.content and not one.units & other.units
    return new.marker > 1 and not apart and _inside(one.content, other.content, weight) >= 0.6


def _opposite(one: Subject, other: Subject, weight: Weight) -> bool:
    return (
        one.negative != other.negative
        and one.values == other.values
        and len(one.content) > 1
        and likeness(one.content, other.content, weight) >= _SAME
    )


def _inside(one: Words, other: Words, weight: Weight) -> float:
    """How much of the smaller lies in the other."""
    return max(containment(one, other, weight), containment(other, one, weight))
