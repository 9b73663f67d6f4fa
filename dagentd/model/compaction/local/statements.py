"""One sentence, judged: a decision or a limit, a wish, a fact with a value in it, or only talk."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from dagentd.model.compaction.local import phrases, prose
from dagentd.model.compaction.local.subjects import words

Kind = Literal["decision", "request", "fact"]
STRONG, MEDIUM, WEAK = 3, 2, 1
Rated = tuple[Kind, int]

# What a reader would miss if it were gone: a number, a path, an address, a name in code.
_PRECISE = re.compile(r"\d|`[^`]+`|(?<![\w<])(?:[\w.@~-]*/)+[\w.-]+|\b\w+\.(?:[a-z]{1,4}\d?|[a-z]{1,3}json|toml|yaml|lock)\b|\b[a-z]+_[a-z_]+\b|\b[A-Z]{2,}[A-Z0-9_-]+\b")
_NAMED = re.compile(r"(?<=[^.!?] )(?!I\b)[A-Z][\w.+#-]+|\b[A-Za-z]+[a-z][A-Z]\w*|\b[A-Z]{2,}\b")


@dataclass(frozen=True)
class Statement:
    """`marker` says how plainly it takes something back (0, 1, 2), `rejected` what, `dropped` what or what about;
    `points` at what was just said."""

    kind: Kind
    text: str
    strength: int
    by_user: bool
    marker: int = 0
    rejected: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    adds: bool = False
    points: bool = False
    chooses: bool = False


_NOTHING = Statement("decision", "", 0, True)


def statements(said: Iterable[prose.Sentence], by_user: bool) -> Iterator[Statement]:
    """Of one message, in order. `Change of plan.` and `Forget RabbitMQ.` colour what follows them in the message."""
    held, before = None, _NOTHING
    for sentence in said:
        found = _judged(sentence, by_user)
        if found is None and by_user and _marker(sentence.text) > 1:
            before = _coloured(_turned(sentence.text), before)
        elif found is not None and found.kind != "request":
            found, before = _coloured(found, before), _NOTHING
            if _only_rejects(found):
                held = before = found
            else:
                held = None
                yield found
        elif found is not None:
            yield found
    if held is not None:
        yield held


def _coloured(found: Statement, before: Statement) -> Statement:
    marker = max(found.marker, before.marker)
    return replace(
        found,
        kind="decision" if marker > 1 else found.kind,
        marker=marker,
        rejected=(*before.rejected, *found.rejected),
        dropped=(*before.dropped, *found.dropped),
        points=before.points or found.points,
    )


def _only_rejects(found: Statement) -> bool:
    """It says what no longer holds and not what holds instead."""
    gone = (*found.rejected, *found.dropped)
    return found.marker > 1 and bool(gone or found.points) and not words(found.text) - frozenset().union(*map(words, gone))


def _turned(text: str) -> Statement:
    return Statement(
        "decision", text, STRONG, True, _marker(text), _things(phrases.REPLACED, text), _things(phrases.DROPPED, text),
        points=bool(phrases.THIS.search(text)),
    )


def _judged(sentence: prose.Sentence, by_user: bool) -> Statement | None:
    text = prose.ungreeted(sentence.text)
    if len(text) < 4 or phrases.STEERING.search(text):
        return None
    rated = _of_user(text, sentence.lead) if by_user else _of_assistant(text, sentence.lead)
    if rated is None:
        return None
    kind, strength = rated
    marker = _marker(text) if kind != "request" else 0
    return Statement(
        kind, prose.shortened(text), strength, by_user, marker, _things(phrases.REPLACED, text),
        _things(phrases.DROPPED, text), bool(phrases.ALSO.search(text)) and marker < 2,
        bool(phrases.THIS.search(text)), bool(phrases.CHOICE.search(text)),
    )


def _of_user(text: str, lead: str) -> Rated | None:
    if phrases.LABEL.search(text) or (lead and phrases.LABEL.search(lead)):
        return ("decision", STRONG) if not text.endswith((":", "：")) else None
    if text.endswith(("?", "？")) or phrases.POLITE.match(text):
        return _asked(text)
    if phrases.FIRM.search(text):
        return "decision", STRONG
    if phrases.QUESTION.match(text):
        return None
    if phrases.DEFERRED.search(text):
        return "request", STRONG
    if phrases.HEDGED.search(text):
        return ("request", MEDIUM) if phrases.REQUEST.search(text) and "would be" in text else None
    return _stated_by_user(text, bool(phrases.TURN.search(text))) or _told(text)


def _asked(text: str) -> Rated | None:
    """Some questions are polite orders; the rest is over with the answer."""
    if not phrases.POLITE.match(text) or phrases.HEDGED.search(phrases.POLITE.sub("", text)):
        return None
    order = phrases.POLITE.sub("", text)
    return _stated_by_user(order, bool(phrases.TURN.search(order)))


def _stated_by_user(text: str, turned: bool) -> Rated | None:
    """What he says plainly. To take something back and name what holds instead is a decision, also as an order."""
    if phrases.REQUEST.search(text) and not (turned and phrases.CHOICE.search(text)):
        return "request", STRONG
    if turned or phrases.CHOICE.search(text):
        return "decision", STRONG
    if phrases.MOMENTARY.search(text):
        return None
    if phrases.PROBLEM.search(text):
        return "request", MEDIUM
    return ("decision", STRONG) if phrases.CONSTRAINT.search(text) else None


def _told(text: str) -> Rated | None:
    """Whatever else he says: what has something definite in it is worth keeping, other talk only while there is room."""
    if _PRECISE.search(text) or phrases.KEYED.match(text) or (_NAMED.search(text) and not phrases.MOMENTARY.search(text)):
        return "fact", WEAK if phrases.TALK.match(text) else MEDIUM
    idle = phrases.TALK.match(text) or phrases.MOMENTARY.search(text) or text.endswith((":", "："))
    return ("fact", WEAK) if not idle and (text.count(" ") >= 4 or not text.isascii() and len(text) >= 6) else None


def _of_assistant(text: str, lead: str) -> Rated | None:
    if text.endswith(("?", "？", ":", "：")) or phrases.HEDGED.search(text) or phrases.PROPOSAL.search(text):
        return None
    if phrases.LABEL.search(text) or (lead and phrases.LABEL.search(lead)):
        return "decision", STRONG
    if phrases.DECIDED.search(text):
        return "decision", STRONG
    precise = bool(_PRECISE.search(text))
    if phrases.FIRM.search(text) and precise:
        return "decision", WEAK
    return ("fact", WEAK) if precise and phrases.VALUE_VERB.search(text) else None


def _marker(text: str) -> int:
    if phrases.TURN.search(text):
        return 2
    return 1 if phrases.SHIFT.search(text) else 0


def _things(named: re.Pattern[str], text: str) -> tuple[str, ...]:
    found = (group for match in named.finditer(text[:600]) for group in match.groups() if group)
    return tuple(dict.fromkeys(found))
