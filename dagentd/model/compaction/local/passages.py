"""Sentences that can only be understood together: `About the import. We take openpyxl.` is one statement."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from dagentd.model.compaction.local import asking, changes, meant, phrases, prose
from dagentd.model.compaction.local.chunks import chunks
from dagentd.model.compaction.local.judging import STRONG, judged
from dagentd.model.compaction.local.subjects import is_place, subject, words
from dagentd.model.compaction.local.topics import IDLE, shared_topic, topics

_FEW = 3  # words of a choice that names no topic
_LONG = 12  # spaces; such a choice is short
_TITLE = 4  # spaces of what is hardly a sentence: a title, or a choice and nothing else
_ORDER = re.compile(
    r"^\W*(?:please |and |also )?(?:use|take|prefer|keep|pin|set|choose|pick|we only|only|all|every|no)\b"
)
_SECTION = re.compile(  # of what somebody plans, when it decides nothing: for that there is `phrases.LABEL`
    r"^\W*(?:[\w-]+ ){0,2}(?:goals?|notes?|criteria|criterion|assumptions?|risks?|scope|background|caveats?|warnings?"
    r"|hints?|tips?|deadlines?|milestones?|non-goals?|motivation|purpose|reminders?|to-?dos?)\W{0,3}[:：]"
)
_THANKS = re.compile(r"\b(?:thanks?|thx|cheers|ta)\b")
_TOPIC = re.compile(r"(?:^|[.;] )\W*(?:topic|subject|title|context|re|about|area|question|item|issue)\s*:\s*\S")
_RULING = re.compile(
    r"^\W*(?:(?:the|our|my|their|final) )+(?:answer|verdict|winner|choice|pick|outcome|decision|result|conclusion"
    r"|ruling)\b(?! (?:for|on|about|to|as|in)\b)"
)
_NO = re.compile(
    r"^\W*(?:(?:yeah|hell|absolutely|certainly|definitely)\W+)?(?:no|nope|nah|not|never|don['’]?t|do not)\b"
    r"(?! (?:sure|urgent|a problem|problem|idea|rush|hurry|clue))"
)
_THAT = re.compile(r"^\W*(?:and |so |but |yes,? )*(?:that|this|it|both|which|those|these)\b")
_HENCE = re.compile(r"^\W*(?:so|then|hence|thus|therefore|instead|because|it|that|this|we do)\b|\b(?:then|instead)\W*$")
_BACK = re.compile(r"^\W*(?:yes\W+)?(?:that|this)\b|\b(?:it|that|this)\W*$")
_USE = re.compile(r"^\W*(?:(?:yes|yep|yeah|right|namely|and|i mean)\W+)?(?:for|as|in|on|at|that|this|it)\b")
_SEVERAL = re.compile(r"\w[.!?] \S")
_REMARK = re.compile(r"\b(?:it|that|this|no|not|never)\b|n['’]t\b")


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
        held = _under_its_title(sentence)
    if held is not None:
        yield held


def _under_its_title(sentence: prose.Sentence) -> prose.Sentence:
    """What is only a choice, in a list or below a heading."""
    title = sentence.lead.strip("#*_ :：").strip()
    if not title or not _is_title(title) or not subject(f"- {sentence.text}").names or not _lacks_topic(sentence.text):
        return sentence
    return replace(sentence, text=f"{title}: {sentence.text}")


def _continue(held: prose.Sentence, sentence: prose.Sentence) -> bool:
    return _below(held, sentence) if sentence.first else _belong(held.text, sentence.text)


def _below(before: prose.Sentence, sentence: prose.Sentence) -> bool:
    """`Topic: job queue` and below that `Decision: Celery`; `upload limit` and below that `75 MB`."""
    low = sentence.text.lower()
    if _TOPIC.search(before.text.lower()):
        return bool(phrases.KEYED.match(low)) or bool(phrases.LABEL.search(low))
    if sentence.listed or _has_label(low) or not _is_title(before.text):
        return False
    return _has_value(sentence.text) and _lacks_topic(sentence.text)


def _is_title(text: str) -> bool:
    low = text.lower()
    if text.count(" ") > _TITLE or text.endswith((".", "!", "?", ",")) or phrases.TALK.match(low):
        return False
    return bool(words(text)) and not _has_value(text) and not phrases.LABEL.search(low)


def _belong(before: str, text: str) -> bool:
    if len(before) + len(text) > prose.LONGEST or text.endswith("?"):
        return False
    low, earlier = text.lower(), prose.ungreeted(before).lower()
    if _has_label(low):
        return bool(_TOPIC.search(earlier))
    if before.endswith("?"):
        return _answers(earlier.rsplit(": ", 1)[-1], text, low)
    if _used_for(before, text):
        return True
    if _is_talk(before, earlier) or _is_talk(text, low) or not _depends(before, earlier, text, low):
        return False
    return not _asks(before) or _specifies(before, text, low)


def _has_label(low: str) -> bool:
    return bool(phrases.LABEL.search(low) or _SECTION.match(low))


def _asks(text: str) -> bool:
    rated = judged(text, "", True)
    return rated is not None and rated[0] == "request"


def _specifies(asked: str, text: str, low: str) -> bool:
    """What is asked for has the one choice or remark with it that says nothing without it, and neither rules nor other
    requests: whoever does it is to find each of these."""
    if _SEVERAL.search(asked) or asking.REQUEST.search(low) or not _lacks_topic(text):
        return False
    return bool(_THAT.match(low) and words(text)) or (text.count(" ") <= _TITLE and _has_value(text))


def _depends(before: str, earlier: str, text: str, low: str) -> bool:
    """On what was said before it: it has no topic of its own, remarks on it, or goes on to change it."""
    if _TOPIC.search(earlier) and (phrases.KEYED.match(low) or phrases.CHOICE.search(low)):
        return True
    if not words(text) - IDLE and not subject(text).values:
        return bool(_REMARK.search(low)) or changes.turns(low)  # `We do not.`, `Do that.`
    if _BACK.search(low) and not _has_value(text) and _has_value(before) and not meant.weighed(earlier):
        return True
    waits = _leaves_open(before, earlier)
    if _lacks_topic(text, 2 * _FEW if waits else _FEW):
        return waits or bool(_HENCE.search(low)) or not _both_stand(before, text)
    if waits and (_is_label(text, low) or _RULING.match(low)):
        return True
    if _THAT.match(low) and (before.count(" ") <= _TITLE or changes.turns(low)) and "? " not in before:
        return True
    if changes.turns(low) or changes.turns(earlier):
        return bool(shared_topic(before, text)) or (_chooses_only(earlier) and _lacks_topic(before))
    return False


def _is_talk(text: str, low: str) -> bool:
    return bool(phrases.TALK.match(low)) and not topics(text).filled and not changes.turns(low)


def _used_for(before: str, text: str) -> bool:
    """A choice alone, and then what it is for: `PASETO. Yes, for the tokens.`"""
    if _has_value(text) or phrases.TALK.match(before.lower()) or not _lacks_topic(before) or not topics(text).marked:
        return False
    return bool(_USE.match(text.lower()))


def _leaves_open(before: str, low: str) -> bool:
    """It has a topic and says of it only what is not, or nothing yet: `No YAML for the config.` waits for more."""
    named = sum(chunk.named and chunk.value for chunk in chunks(before))
    if changes.turns(low) or subject(before).negative:
        return named <= 1
    return not named and not subject(before).values and bool(topics(before).marked)


def _is_label(text: str, low: str) -> bool:
    if not phrases.KEYED.match(low) or asking.DEFERRED.search(low):
        return False
    return all(len(each.topic) == 1 for each in topics(text).filled)


def _both_stand(before: str, text: str) -> bool:
    """`Use Redis for the cache. Use pnpm.`"""
    rated = judged(before, "", True)
    return bool(_ORDER.match(text.lower())) and rated is not None and rated[1] == STRONG


def _answers(question: str, text: str, low: str) -> bool:
    """His own question: with a yes or a no, with a choice, or with a name after `The linter?`"""
    if _NO.match(low):
        return True
    if phrases.AFFIRMED.match(low) and not _THANKS.search(low):
        return True
    if phrases.TALK.match(low):
        return False
    bare = question.count(" ") <= 3
    if not _lacks_topic(text):
        return bare and changes.turns(low)
    if asking.POLITE.search(question) or asking.QUESTION.match(question):
        about = subject(text)
        return bool(phrases.CHOICE.search(low) or changes.turns(low) or about.values or is_place(about.names))
    return not asking.QUESTION.match(low)


def _has_value(text: str) -> bool:
    about = subject(text if " " in text else f"- {text}")
    return bool(about.names.difference(*topics(text).marked) or about.values)


def _lacks_topic(text: str, few: int = _FEW) -> bool:
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


def _chooses_only(low: str) -> bool:
    return bool(phrases.CHOICE.search(low)) and not changes.replaces(low) and not changes.DROPPED.search(low)
