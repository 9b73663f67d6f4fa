"""Sentences that can only be understood together: `About the import. We take openpyxl.` is one statement."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from dagentd.model.compaction.local import asking, changes, meant, phrases, prose
from dagentd.model.compaction.local.chunks import chunks
from dagentd.model.compaction.local.fragments import (
    FEW,
    HENCE,
    TITLE,
    asks_for,
    chooses,
    chooses_only,
    has_label,
    has_value,
    is_key,
    is_talk,
    is_title,
    lacks_topic,
    leaves_open,
    turned_down,
)
from dagentd.model.compaction.local.judging import STRONG, judged
from dagentd.model.compaction.local.subjects import is_place, subject, words
from dagentd.model.compaction.local.topics import IDLE, shared_topic, topics

_ORDER = re.compile(
    r"^\W*(?:please |and |also )?(?:use|take|prefer|keep|pin|set|choose|pick|we only|only|all|every\w*|each"
    r"|any|no(?:body|thing| one)?|never|don['’]?t|do not)\b"
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
_SO = re.compile(r"^\W*(?:so|hence|thus|therefore)\b")
_BACK = re.compile(r"^\W*(?:yes\W+)?(?:that|this)\b|\b(?:it|that|this)\W*$")
_USE = re.compile(r"^\W*(?:(?:yes|yep|yeah|right|namely|and|i mean)\W+)?(?:for|as|in|on|at|that|this|it)\b")
_IT, _ITS = re.compile(r"\b(?:it|them)\b"), re.compile(r"\b(?:its|their) \w+")
_FURTHER = re.compile(r"\s(?:and|then)\s|[,;]\s")
_SEVERAL = re.compile(r"\w[.!?] \S")
_REMARK = re.compile(r"\b(?:it|that|this|no|not|never)\b|n['’]t\b")


def passages(said: Iterable[prose.Sentence]) -> Iterator[prose.Sentence]:
    held: prose.Sentence | None = None
    every = list(said)
    for sentence, following in zip(every, [*every[1:], None], strict=False):
        waits = following is not None and not following.first and _opens(sentence.text, following.text)
        if held is not None and not waits and _continue(held, sentence):
            held = replace(held, text=f"{held.text} {sentence.text}")
            continue
        if held is not None:
            yield held
        held = _under_its_title(sentence)
    if held is not None:
        yield held


def _opens(text: str, following: str) -> bool:
    """It belongs to what comes, and not to what was."""
    low, after = text.lower(), following.lower()
    if _used_for(text, following):
        return True
    if has_label(after) or not turned_down(text, low) or changes.replaces(low):
        return False
    return lacks_topic(text) and chooses(following, after)


def _under_its_title(sentence: prose.Sentence) -> prose.Sentence:
    """What is only a choice, in a list or below a heading."""
    if sentence.lead.endswith("?"):
        return _under_its_question(sentence)
    title = sentence.lead.strip("#*_ :：").strip()
    if not title or not is_title(title) or not subject(f"- {sentence.text}").names or not lacks_topic(sentence.text):
        return sentence
    return replace(sentence, text=f"{title}: {sentence.text}")


def _under_its_question(sentence: prose.Sentence) -> prose.Sentence:
    """What is only a choice, as an answer to what is quoted above it."""
    choice, low = meant.PARTS.split(sentence.text)[0], sentence.text.lower()
    if not sentence.first or sentence.text.endswith("?") or phrases.TALK.match(low) or not lacks_topic(choice):
        return sentence
    return replace(sentence, text=f"{sentence.lead} {sentence.text}")


def _continue(held: prose.Sentence, sentence: prose.Sentence) -> bool:
    return _below(held, sentence) if sentence.first else _belong(held.text, sentence.text)


def _below(before: prose.Sentence, sentence: prose.Sentence) -> bool:
    """`Topic: job queue` and below that `Decision: Celery`; `upload limit` and below that `75 MB`."""
    low = sentence.text.lower()
    if _TOPIC.search(before.text.lower()):
        return bool(phrases.KEYED.match(low)) or bool(phrases.LABEL.search(low))
    if sentence.listed or has_label(low) or not is_title(before.text):
        return False
    return has_value(sentence.text) and lacks_topic(sentence.text)


def _belong(before: str, text: str) -> bool:
    if len(before) + len(text) > prose.LONGEST or text.endswith("?"):
        return False
    low, earlier = text.lower(), prose.ungreeted(before).lower()
    if has_label(low):
        return bool(_TOPIC.search(earlier))
    if before.endswith("?"):
        return _answers(earlier.rsplit(": ", 1)[-1], text, low)
    if _used_for(before, text):
        return True
    if is_talk(before, earlier) or is_talk(text, low) or not _depends(before, earlier, text, low):
        return False
    return not asks_for(before) or _specifies(before, text, low)


def _specifies(asked: str, text: str, low: str) -> bool:
    """What is asked for has the one choice or remark with it that says nothing without it, and neither rules nor other
    requests: whoever does it is to find each of these."""
    if _SEVERAL.search(asked) or asking.REQUEST.search(low) or not lacks_topic(text):
        return False
    return bool(_THAT.match(low) and words(text)) or (text.count(" ") <= TITLE and has_value(text))


def _depends(before: str, earlier: str, text: str, low: str) -> bool:
    """On what was said before it: it has no topic of its own, remarks on it, or goes on to change it."""
    if _TOPIC.search(earlier) and (phrases.KEYED.match(low) or phrases.CHOICE.search(low)):
        return True
    if not words(text) - IDLE and not subject(text).values:
        return bool(_REMARK.search(low)) or changes.turns(low)  # `We do not.`, `Do that.`
    if _BACK.search(low) and not has_value(text) and has_value(before) and not meant.weighed(earlier):
        return True
    if turned_down(before, earlier) and (_SO.match(low) or (lacks_topic(before) and chooses(text, low))):
        return True
    waits = leaves_open(before, earlier)
    given = has_value(text) or phrases.CHOICE.search(low) or changes.replaces(low)
    if lacks_topic(_core(text), 2 * FEW if waits and given else FEW):
        return waits or bool(HENCE.search(low)) or not _both_stand(before, text)
    if waits and (is_key(text, low) or _RULING.match(low)):
        return True
    if _leans(text):
        return True
    if _THAT.match(low) and (before.count(" ") <= TITLE or changes.turns(low)) and "? " not in before:
        return True
    if changes.turns(low) or changes.turns(earlier):
        return bool(shared_topic(before, text)) or (chooses_only(earlier) and lacks_topic(before))
    return False


def _core(text: str) -> str:
    """Of a choice that is given for another what comes first: `try Clerk instead and remove the old route`."""
    first, *rest = _FURTHER.split(text, maxsplit=1)
    return first if rest and changes.turns(first.lower()) and has_value(first) else text


def _leans(text: str) -> bool:
    """It speaks of what was said before it, and has something definite to say of that: `Caddy shall be its heir.`"""
    clause = _ITS.sub("it", meant.PARTS.split(text)[0])
    if not _IT.search(clause.lower()) or topics(f"- {clause}").spoken:
        return False
    return has_value(f"- {clause}") or any(chunk.before.endswith("U") for chunk in chunks(clause))


def _used_for(before: str, text: str) -> bool:
    """A choice alone, and then what it is for: `PASETO. Yes, for the tokens.`"""
    if has_value(text) or phrases.TALK.match(before.lower()) or not lacks_topic(before) or not topics(text).marked:
        return False
    return bool(_USE.match(text.lower()))


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
    if not lacks_topic(text):
        return bare and changes.turns(low)
    if asking.POLITE.search(question) or asking.QUESTION.match(question):
        about = subject(text)
        return bool(phrases.CHOICE.search(low) or changes.turns(low) or about.values or is_place(about.names))
    return not asking.QUESTION.match(low)
