"""What one sentence is: a decision or a limit, a wish, a fact with something definite in it, or only talk."""

from __future__ import annotations

import re
from typing import Literal

from dagentd.model.compaction.local import asking, changes, phrases

Kind = Literal["decision", "request", "fact"]
Rated = tuple[Kind, int]
STRONG, MEDIUM, WEAK = 3, 2, 1

# What a reader would miss if it were gone: a number, a path, an address, a name in code.
_PRECISE = re.compile(
    r"\d|`[^`]+`|(?<![\w<])(?:[\w.@~-]*/)+[\w.-]+|\b\w+\.(?:[a-z]{1,4}\d?|[a-z]{1,3}json|toml|yaml|lock)\b"
    r"|\b[a-z]+_[a-z_]+\b|\b[A-Z]{2,}[A-Z0-9_-]+\b"
)
_NAMED = re.compile(r"(?<=[^.!?] )(?!I\b)[A-Z][\w.+#-]+|\b\w*[a-z][A-Z]\w*|\b[A-Z]{2,}\b")
_NOT_STATED = (phrases.HEDGED, phrases.PROPOSAL, phrases.REPORTED)


def judged(text: str, lead: str, by_user: bool) -> Rated | None:
    """`lead` is what it stands under, in a list."""
    low = text.lower()
    if len(text) < 4 or phrases.STEERING.search(low):
        return None
    return _of_user(text, low, lead.lower()) if by_user else _of_assistant(text, low, lead.lower())


def _of_user(text: str, low: str, lead: str) -> Rated | None:
    if phrases.LABEL.search(low) or (lead and phrases.LABEL.search(lead)):
        return ("decision", STRONG) if not text.endswith((":", "：")) else None
    if text.endswith(("?", "？")) or asking.POLITE.match(low):
        return _asked(low)
    if phrases.REPORTED.search(low):
        return None
    if phrases.FIRM.search(low):
        return "decision", STRONG
    if asking.QUESTION.match(low):
        return None
    if asking.DEFERRED.search(low):
        return "request", STRONG
    if phrases.HEDGED.search(low):
        return ("request", MEDIUM) if asking.REQUEST.search(low) and "would be" in low else None
    return _stated_by_user(low, bool(changes.TURN.search(low))) or _told(text, low)


def _asked(low: str) -> Rated | None:
    """Some questions are polite orders; the rest is over with the answer."""
    if not asking.POLITE.match(low) or phrases.HEDGED.search(asking.POLITE.sub("", low)):
        return None
    order = asking.POLITE.sub("", low)
    return _stated_by_user(order, bool(changes.TURN.search(order)))


def _stated_by_user(low: str, turned: bool) -> Rated | None:
    """What he says plainly. To take something back and name what holds instead is a decision, also as an order."""
    if asking.REQUEST.search(low) and not (turned and phrases.CHOICE.search(low)):
        return "request", STRONG
    if turned or phrases.CHOICE.search(low):
        return "decision", STRONG
    if asking.MOMENTARY.search(low):
        return None
    if asking.PROBLEM.search(low):
        return "request", MEDIUM
    return ("decision", STRONG) if phrases.CONSTRAINT.search(low) else None


def _told(text: str, low: str) -> Rated | None:
    """Whatever else he says: what has something definite in it is worth keeping, other talk while there is room."""
    if _PRECISE.search(text) or phrases.KEYED.match(low) or (_NAMED.search(text) and not asking.MOMENTARY.search(low)):
        return "fact", WEAK if phrases.TALK.match(low) else MEDIUM
    idle = phrases.TALK.match(low) or asking.MOMENTARY.search(low) or text.endswith((":", "："))
    return ("fact", WEAK) if not idle and (text.count(" ") >= 4 or (not text.isascii() and len(text) >= 6)) else None


def _of_assistant(text: str, low: str, lead: str) -> Rated | None:
    if text.endswith(("?", "？", ":", "：")) or any(talk.search(low) for talk in _NOT_STATED):
        return None
    if phrases.LABEL.search(low) or (lead and phrases.LABEL.search(lead)):
        return "decision", STRONG
    if phrases.DECIDED.search(low):
        return "decision", STRONG
    precise = bool(_PRECISE.search(text))
    if phrases.FIRM.search(low) and precise:
        return "decision", WEAK
    return ("fact", WEAK) if precise and phrases.VALUE_VERB.search(low) else None
