"""One sentence, judged: a decision or a limit, a wish, a fact with a value in it, or only talk."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from dagentd.model.compaction.local import phrases, prose
from dagentd.model.compaction.local.subjects import words

Kind = Literal["decision", "request", "fact"]
STRONG, MEDIUM, WEAK = 3, 2, 1
Rated = tuple[Kind, int]

# What a reader would miss if it were gone: a number, a path, an address, a name in code.
_PRECISE = re.compile(r"\d|`[^`]+`|(?<![\w<])(?:[\w.@~-]*/)+[\w.-]+|\b\w+\.(?:[a-z]{1,4}\d?|[a-z]{1,3}json|toml|yaml|lock)\b|\b[a-z]+_[a-z_]+\b|\b[A-Z]{2,}[A-Z0-9_-]+\b")
_NAMED = re.compile(r"(?<=[\w,:;] )[A-Z][\w.+#-]+|\b[A-Za-z]+[a-z][A-Z]\w*|\b[A-Z]{2,}\b")


@dataclass(frozen=True)
class Statement:
    """`marker` says how plainly it takes something back (0, 1, 2), `rejected` what; `points` at what was just said."""

    kind: Kind
    text: str
    strength: int
    by_user: bool
    marker: int = 0
    rejected: tuple[str, ...] = ()
    adds: bool = False
    points: bool = False
    chooses: bool = False


def statements(said: Iterable[prose.Sentence], by_user: bool) -> Iterator[Statement]:
    """Of one message, in order. `Change of plan.` and `Forget RabbitMQ.` colour what follows them in the message."""
    held: Statement | None = None
    marker, rejected, points = 0, (), False
    for sentence in said:
        found = _judged(sentence, by_user)
        if found is None and by_user and _marker(sentence.text) > 1:
            marker, rejected, points = 2, (*rejected, *_rejected(sentence.text)), points or _points(sentence.text)
        elif found is not None and found.kind != "request":
            found = _coloured(found, max(marker, found.marker), (*rejected, *found.rejected), points or found.points)
            marker, rejected, points = 0, (), False
            if _only_rejects(found):
                held, marker, rejected, points = found, 2, found.rejected, found.points
            else:
                held = None
                yield found
        elif found is not None:
            yield found
    if held is not None:
        yield held


def _only_rejects(found: Statement) -> bool:
    """It says what no longer holds and not what holds instead."""
    if found.marker < 2 or not (found.rejected or found.points):
        return False
    return not (words(found.text) - frozenset().union(*map(words, found.rejected)))


def _coloured(found: Statement, marker: int, rejected: tuple[str, ...], points: bool) -> Statement:
    return Statement(
        "decision" if marker > 1 else found.kind, found.text, found.strength, found.by_user, marker, rejected,
        found.adds, points, found.chooses,
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
        kind, prose.shortened(text), strength, by_user, marker, _rejected(text),
        bool(phrases.ALSO.search(text)) and marker < 2, _points(text), bool(phrases.CHOICE.search(text)),
    )


def _of_user(text: str, lead: str) -> Rated | None:
    if phrases.LABEL.search(text) or (lead and phrases.LABEL.search(lead)):
        return ("decision", STRONG) if not text.endswith((":", "：")) else None
    if text.endswith(("?", "？")):
        return _asked(text)
    if phrases.FIRM.search(text):
        return "decision", STRONG
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
    if _PRECISE.search(text) or (_NAMED.search(text) and not phrases.MOMENTARY.search(text)):
        return "fact", WEAK if phrases.TALK.match(text) else MEDIUM
    idle = phrases.TALK.match(text) or phrases.MOMENTARY.search(text) or text.endswith((":", "："))
    return ("fact", WEAK) if not idle and (text.count(" ") >= 4 or (not text.isascii() and len(text) >= 6)) else None


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


def _points(text: str) -> bool:
    return bool(phrases.THIS.search(text))


def _rejected(text: str) -> tuple[str, ...]:
    found = (group for match in phrases.REJECTED.finditer(text[:600]) for group in match.groups() if group)
    return tuple(dict.fromkeys(found))
