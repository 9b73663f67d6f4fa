"""Sentences that can only be understood together: `About the import. We take openpyxl.` is one statement."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from dagentd.model.compaction.local import asking, changes, phrases, prose
from dagentd.model.compaction.local.judging import STRONG, judged
from dagentd.model.compaction.local.subjects import subject, words
from dagentd.model.compaction.local.topics import clauses, shared_topic, topics

_FEW = 3  # words of a choice that names no topic
_LONG = 12  # spaces; such a choice is short
_IDLE = words(
    "job trick way replacement successor alternative answer winner pick solution option comes choice better best fit"
)
_THANKS = re.compile(r"\b(?:thanks?|thx|cheers|ta)\b")
_TOPIC = re.compile(r"^\W*(?:topic|subject|context|re|about|area|question|item|issue)\s*:\s*\S")
_NO = re.compile(
    r"^\W*(?:no|nope|not|never|don['’]?t|do not|absolutely not|certainly not)\b(?! (?:sure|urgent|a problem|problem"
    r"|idea))"
)
_BARE_NO = re.compile(
    r"^\W*(?:(?:so|and|but|hence|thus|therefore|please|just)\W+)*(?:no|never|don['’]?t|do not)(?: ever)?\W*$"
)
_RULING = re.compile(
    r"^\W*(?:(?:the|our|my|their|final) )+(?:answer|verdict|winner|choice|pick|outcome|decision|result|conclusion"
    r"|ruling)\b(?! (?:for|on|about|to|as|in)\b)"
)
_IT_IS = re.compile(
    r"^\W*(?:so |then |and )?it(?:['’]ll| has to| needs to| should| must| will| shall|['’]s going to| is going to)"
    r" (?:be|become) [\w.+#-]+(?: [\w.+#-]+)?\W*$"
)
_USE = re.compile(r"^\W*(?:(?:yes|yep|yeah|right|namely|and|that is)\W+)?(?:for|as) (?:the|our|my)\b")
_THAT = re.compile(r"^\W*(?:that|this|it|both|which)\b")


def passages(said: Iterable[prose.Sentence]) -> Iterator[prose.Sentence]:
    held: prose.Sentence | None = None
    every = list(said)
    for sentence, following in zip(every, [*every[1:], None], strict=False):
        waits = following is not None and not following.first and _used_for(sentence.text, following.text)
        if held is not None and not waits and _continue(held, sentence):
            held = replace(held, text=f"{held.text} {sentence.text}")
            continue
        if held is not None:
            yield held
        held = sentence
    if held is not None:
        yield held


def _continue(held: prose.Sentence, sentence: prose.Sentence) -> bool:
    return _memo(held, sentence) if sentence.first else _belong(held.text, sentence.text)


def _memo(before: prose.Sentence, sentence: prose.Sentence) -> bool:
    """`Topic: job queue` and below that `Decision: Celery`."""
    return bool(_TOPIC.match(before.text.lower()) and phrases.LABEL.search(sentence.text.lower()))


def _belong(before: str, text: str) -> bool:
    if len(before) + len(text) > prose.LONGEST or text.endswith("?"):
        return False
    low, earlier = text.lower(), prose.ungreeted(before).lower()
    if phrases.TALK.match(earlier):
        return False
    if before.endswith("?"):
        return _answers(earlier.rsplit(": ", 1)[-1], text, low)
    if _completes(before, earlier, text, low):
        return True
    if _THAT.match(low) and (
        (before.count(" ") <= 4 and "? " not in before and topics(text).marked) or changes.turns(low)
    ):
        return True
    if changes.DROPPED.search(low) and not words(text) & words(before) and _stands_alone(before, earlier):
        return False
    if _lacks_topic(text, low, changes.turns(earlier)):
        dependent = changes.turns(low) or not phrases.CHOICE.search(low)
        return bool(dependent) or _open(before, earlier) or not _stands_alone(before, earlier)
    if changes.turns(low) or changes.turns(earlier):
        return _of_one_topic(before, text) or (_chooses_only(earlier) and _lacks_topic(before, earlier, False))
    return False


def _completes(before: str, earlier: str, text: str, low: str) -> bool:
    """`Context: queue. Outcome: Celery.`, `PASETO. Yes, for the tokens.`, `I would hate to see that. So please, no.`"""
    if _BARE_NO.match(low) or (phrases.LABEL.search(low) and _TOPIC.match(earlier)):
        return True
    if _RULING.match(low) or _IT_IS.match(low) or _announces(before, earlier):
        return bool(topics(before).marked)
    return _used_for(before, text)


def _used_for(before: str, text: str) -> bool:
    """A name alone, and then what it is for."""
    return before.count(" ") <= 2 and bool(_USE.match(text.lower())) and not topics(text).filled


def _announces(before: str, low: str) -> bool:
    """That something changes, and of what, but not yet what it becomes: `I stand corrected on the cache.`"""
    if before.count(" ") > _LONG or ". " in before or not changes.turns(low) or phrases.CHOICE.search(low):
        return False
    return not topics(before).filled and not changes.DROPPED.search(low) and not changes.replaces(low)


def _answers(question: str, text: str, low: str) -> bool:
    """His own question: with a yes or a no, with a choice, or with a name after `The linter?`"""
    if _NO.match(low) and not asking.QUESTION.match(question):
        return True
    yes = phrases.AFFIRMED.match(low) and not _THANKS.search(low)
    if yes or asking.POLITE.search(question):
        return bool(yes) or _lacks_topic(text, low, True)
    if asking.QUESTION.match(question):
        return bool(phrases.CHOICE.search(low) or changes.turns(low)) and _lacks_topic(text, low, False)
    bare = question.count(" ") <= 3
    if bare and changes.turns(low):
        return True
    chosen = phrases.CHOICE.search(low) or changes.turns(low) or subject(f"- {text}").names
    return (bare or bool(chosen)) and not phrases.TALK.match(low) and _lacks_topic(text, low, bare)


def _lacks_topic(text: str, low: str, turned: bool) -> bool:
    """A choice of something, and not for what."""
    main = clauses(text)[0]
    if main.count(" ") > _LONG:
        return False
    about, said = subject(main), topics(text)
    content, head = about.content - _IDLE, about.head - _IDLE
    if about.scope - about.names or len(content) > _FEW or (head and (about.values or head < content)):
        return False
    spoken = {*(each.topic for each in said.filled), *topics(main).marked}
    if phrases.FIRM.search(low) or any(not _IDLE.issuperset(phrase) for phrase in spoken):
        return False
    if not content | about.values:
        return bool(_THAT.match(low) and changes.turns(low))
    if len(content) <= 2 and (turned or text.count(" ") <= 2) and not phrases.TALK.match(low):
        return not asking.MOMENTARY.search(low)
    chosen = phrases.CHOICE.search(low) or changes.turns(low) or changes.SHIFT.search(low)
    return bool(chosen) or content < about.content


def _open(before: str, low: str) -> bool:
    """It has a topic and says of it only what is not, or nothing yet: `No YAML for the config.` waits for more."""
    said = phrases.CHOICE.search(low) or phrases.DECIDED.search(low) or phrases.LABEL.search(low)
    return not said and any(each.sure == 3 for each in topics(before).filled)


def _stands_alone(before: str, low: str) -> bool:
    """It is a statement itself, and none that waits for what holds instead."""
    if changes.turns(low) or before.endswith("?"):
        return False
    rated = judged(before, "", True)
    return rated is not None and rated[1] == STRONG


def _chooses_only(low: str) -> bool:
    return bool(phrases.CHOICE.search(low)) and not changes.replaces(low) and not changes.DROPPED.search(low)


def _of_one_topic(before: str, text: str) -> bool:
    return bool(shared_topic(before, text))
