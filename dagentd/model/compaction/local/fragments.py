"""Sentences that say too little to be understood alone: no topic, no value, or only what is not."""

from __future__ import annotations

import re

from dagentd.model.compaction.local import asking, changes, phrases
from dagentd.model.compaction.local.chunks import chunks
from dagentd.model.compaction.local.judging import judged
from dagentd.model.compaction.local.subjects import subject, words
from dagentd.model.compaction.local.topics import IDLE, topics

FEW = 3  # words of a choice that names no topic
_LONG = 12  # spaces; such a choice is short
TITLE = 4  # spaces of what is hardly a sentence: a title, or a choice and nothing else
_SECTION = re.compile(  # of what somebody plans, when it decides nothing: for that there is `phrases.LABEL`
    r"^\W*(?:[\w-]+ ){0,2}(?:goals?|notes?|criteria|criterion|assumptions?|risks?|scope|background|caveats?|warnings?"
    r"|hints?|tips?|deadlines?|milestones?|non-goals?|motivation|purpose|reminders?|to-?dos?)\W{0,3}[:：]"
)
HENCE = re.compile(r"^\W*(?:so|then|hence|thus|therefore|instead|because|it|that|this|we do)\b|\b(?:then|instead)\W*$")
_DENIED = re.compile(r"^\W*no \w")
_THEN = re.compile(r"\bthen\b")


def has_value(text: str) -> bool:
    about = subject(text if " " in text else f"- {text}")
    return bool(about.names.difference(*topics(text).marked) or about.values)


def lacks_topic(text: str, few: int = FEW) -> bool:
    """A choice of something, and not for what."""
    if text.count(" ") > _LONG:
        return False
    about, said = subject(text), topics(text)
    content = about.content - IDLE
    if len(content) > few or (about.scope - about.names - IDLE):
        return False
    if said.filled or said.marked:
        return False
    return not phrases.FIRM.search(text.lower()) or not content


def is_title(text: str) -> bool:
    low = text.lower()
    if text.count(" ") > TITLE or text.endswith((".", "!", "?", ",")) or phrases.TALK.match(low):
        return False
    return bool(words(text)) and not has_value(text) and not phrases.LABEL.search(low)


def is_fragment(text: str) -> bool:
    """As a whole message: a word or two that say nothing of anything. `burst 8`, `without`, `hm`; not `no ORMs`."""
    low = text.lower()
    if text.count(" ") > 1 or not text.isascii() or _DENIED.match(low) or phrases.KEYED.match(low):
        return False
    said = phrases.LABEL.search(low) or phrases.CHOICE.search(low) or asking.REQUEST.search(low) or changes.turns(low)
    firm = phrases.FIRM.search(low) and words(text)
    return not (said or firm or changes.replaces(low) or topics(text).filled)


def has_label(low: str) -> bool:
    return bool(phrases.LABEL.search(low) or _SECTION.match(low))


def is_key(text: str, low: str) -> bool:
    if not phrases.KEYED.match(low) or asking.DEFERRED.search(low):
        return False
    return all(len(each.topic) == 1 for each in topics(text).filled)


def asks_for(text: str) -> bool:
    rated = judged(text, "", True)
    return rated is not None and rated[0] == "request"


def is_talk(text: str, low: str) -> bool:
    return bool(phrases.TALK.match(low)) and not topics(text).filled and not changes.turns(low)


def leaves_open(before: str, low: str) -> bool:
    """It has a topic and says of it only what is not, or nothing yet: `No YAML for the config.` waits for more."""
    named = sum(chunk.named and chunk.value for chunk in chunks(before))
    if changes.turns(low) or subject(before).negative:
        return named <= 1
    return not named and not subject(before).values and bool(topics(before).marked)


def turned_down(before: str, earlier: str) -> bool:
    """`I don't think Redux pays off.` waits for what is to be taken instead; `Forget Redux.` needs not be repeated."""
    if phrases.FIRM.search(earlier) or changes.DROPPED.search(earlier):
        return False
    return changes.turns(earlier) or subject(before).negative


def chooses(text: str, low: str) -> bool:
    """Something for a topic."""
    if phrases.FIRM.search(low) or subject(text).negative:
        return False
    return bool(topics(text).filled) and bool(phrases.CHOICE.search(low) or HENCE.search(low) or _THEN.search(low))


def chooses_only(low: str) -> bool:
    return bool(phrases.CHOICE.search(low)) and not changes.replaces(low) and not changes.DROPPED.search(low)
