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
_IDLE = words("job trick way replacement successor alternative answer winner pick solution option comes")
_THAT = re.compile(r"^\W*(?:that|this|it|both|which)\b")


def passages(said: Iterable[prose.Sentence]) -> Iterator[prose.Sentence]:
    held: prose.Sentence | None = None
    for sentence in said:
        if held is not None and not sentence.first and _belong(held.text, sentence.text):
            held = replace(held, text=f"{held.text} {sentence.text}")
            continue
        if held is not None:
            yield held
        held = sentence
    if held is not None:
        yield held


def _belong(before: str, text: str) -> bool:
    if len(before) + len(text) > prose.LONGEST:
        return False
    low, earlier = text.lower(), prose.ungreeted(before).lower()
    if phrases.TALK.match(earlier):
        return False
    if before.endswith("?"):
        return _answers(earlier, text, low)
    if _THAT.match(low) and before.count(" ") <= 3 and topics(text).given:
        return True
    if _lacks_topic(text, low, changes.turns(earlier)):
        dependent = changes.turns(low) or not phrases.CHOICE.search(low)
        return bool(dependent) or not _stands_alone(before, earlier)
    if changes.turns(low) or changes.turns(earlier):
        return _of_one_topic(before, text) or (_chooses_only(earlier) and _lacks_topic(before, earlier, False))
    return False


def _answers(question: str, text: str, low: str) -> bool:
    """His own question: with a yes, with a choice, or with a name after `The linter?`"""
    if phrases.AFFIRMED.match(low) or asking.POLITE.search(question):
        return bool(phrases.AFFIRMED.match(low)) or _lacks_topic(text, low, True)
    bare = question.count(" ") <= 3 and not asking.QUESTION.match(question)
    chosen = phrases.CHOICE.search(low) or changes.turns(low) or subject(f"- {text}").names
    return (bare or bool(chosen)) and not phrases.TALK.match(low) and _lacks_topic(text, low, bare)


def _lacks_topic(text: str, low: str, turned: bool) -> bool:
    """A choice of something, and not for what."""
    main = clauses(text)[0]
    if main.count(" ") > _LONG:
        return False
    about, said = subject(main), topics(text)
    content, head = about.content - _IDLE, about.head - _IDLE
    if about.scope or len(content) > _FEW or (head and (about.values or head < content)):
        return False
    if phrases.FIRM.search(low) or said.given or any(not _IDLE.issuperset(phrase) for phrase in topics(main).articled):
        return False
    if not content | about.values:
        return bool(_THAT.match(low) and changes.turns(low))
    if len(content) <= 2 and (turned or text.count(" ") <= 2) and not phrases.TALK.match(low):
        return not asking.MOMENTARY.search(low)
    return bool(phrases.CHOICE.search(low) or changes.turns(low) or changes.SHIFT.search(low))


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
