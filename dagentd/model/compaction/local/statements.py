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

# What a reader would miss if it were gone: a number, a path, an address, a name in code.
_PRECISE = re.compile(r"\d|`[^`]+`|(?<![\w<])(?:[\w.@~-]*/)+[\w.-]+|\b\w+\.(?:[a-z]{1,4}\d?|[a-z]{1,3}json|toml|yaml|lock)\b|\b[a-z]+_[a-z_]+\b|\b[A-Z]{2,}[A-Z0-9_-]+\b")
_ASCII = re.compile(r"[ -~\s’‘“”–—…]")


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
    text = sentence.text
    if len(text) < 4 or phrases.STEERING.search(text):
        return None
    rated = _of_user(text, sentence.lead) if by_user else _of_assistant(text, sentence.lead)
    if rated is None:
        return None
    kind, strength = rated
    marker = _marker(text) if kind != "request" else 0
    return Statement(
        kind, prose.statement(text), strength, by_user, marker, _rejected(text),
        bool(phrases.ALSO.search(text)) and marker < 2, _points(text), bool(phrases.CHOICE.search(text)),
    )


def _of_user(text: str, lead: str) -> tuple[Kind, int] | None:
    if phrases.LABEL.search(text) or (lead and phrases.LABEL.search(lead)):
        return ("decision", STRONG) if not text.endswith((":", "：")) else None
    if text.endswith(("?", "？")):
        return ("request", STRONG) if phrases.REQUEST.search(text) and not _asks(text) else None
    if phrases.DEFERRED.search(text):
        return "request", STRONG
    if phrases.HEDGED.search(text) and not phrases.FIRM.search(text):
        return ("request", MEDIUM) if phrases.REQUEST.search(text) and "would be" in text else None
    return _stated_by_user(text)


def _stated_by_user(text: str) -> tuple[Kind, int] | None:
    wanted = bool(phrases.REQUEST.search(text))
    turned = bool(phrases.TURN.search(text))
    if phrases.FIRM.search(text):
        return "decision", STRONG
    if wanted and not (turned and phrases.CHOICE.search(text)):
        return "request", STRONG
    if phrases.MOMENTARY.search(text) and not turned:
        return None
    if phrases.CONSTRAINT.search(text) or phrases.CHOICE.search(text):
        return "decision", STRONG if len(text) > 14 else MEDIUM
    return _fact_of_user(text, turned)


def _fact_of_user(text: str, turned: bool) -> tuple[Kind, int] | None:
    precise = bool(_PRECISE.search(text))
    if precise and (phrases.VALUE_VERB.search(text) or turned):
        return "fact", MEDIUM
    foreign = len(_ASCII.sub("", text[:200])) > len(text[:200]) // 4
    return ("fact", WEAK) if (precise and len(text) < 200) or (foreign and len(text) < 80) else None


def _of_assistant(text: str, lead: str) -> tuple[Kind, int] | None:
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


def _asks(text: str) -> bool:
    """To be told something: over with the answer."""
    return bool(re.match(r"\W*(?:what|why|how|where|when|who|which|is|are|does|do|did|should|shall|have|has)\b", text, re.IGNORECASE))


def _marker(text: str) -> int:
    if phrases.TURN.search(text):
        return 2
    return 1 if phrases.SHIFT.search(text) else 0


def _points(text: str) -> bool:
    return bool(phrases.THIS.search(text))


def _rejected(text: str) -> tuple[str, ...]:
    found = (group for match in phrases.REJECTED.finditer(text[:600]) for group in match.groups() if group)
    return tuple(dict.fromkeys(found))
