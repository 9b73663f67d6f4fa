"""Whether a sentence is meant: not when it only weighs, tells of others, or asks something of the next minute."""

from __future__ import annotations

import re

from dagentd.model.compaction.local import asking, changes, phrases
from dagentd.model.compaction.local.subjects import stem, words
from dagentd.model.compaction.local.topics import topics

_RULE = re.compile(
    r"(?:^|[:;,—–] )(?:please |and |so |then )*(?:do not|don['’]?t|never|avoid|stop)\b"
    r"|\b(?:must|shall|(?:should|can|could)(?:n['’]?t| ?not)|have to|has to|may not|may never)\b"
)
_NOUNS_TOO = frozenset(map(stem, ("search", "list", "print", "review", "push", "pull", "commit", "test")))
_NEGATED = re.compile(r"(?:\b(?:not|never|nothing|no longer)|n['’]t) (?:an? |the |even |really )?$")
_REFUSES = re.compile(
    r"(?:so |and |but |hence |please |we )*"
    r"(?:no|not|never|don['’]?t|do not)\b(?! (?:today|yet|now|sure))"
)
_STATES = re.compile(
    r"\W*(?:(?:and|so|but|hence|then|please|also) )*"
    r"(?:we|you|our|the|all|every\w*|no|nobody|nothing|each|any)\b"
)
_OTHERS = re.compile(
    r"\b(?:you|anyone|anybody|someone|somebody|whoever|who|people|nobody|no one)(?:['’]re| is| are| was| were| ever"
    r"| still"
    r"| feels?| get| might be| should be)* $"
)
_BUT = re.compile(r"[,;—–] (?:so|but|and|hence|thus|therefore|anyway|still|then|yet)\b|[.!?;] ")
_AND = re.compile(r"\s(?:and|then)\s(?=(?:i|we|(?:in the end|finally),? \w+)\b)")
CLAUSES = re.compile(r"[,;.?!—–]\s|\s\(|\s(?:but|so|yet|while|hence|therefore)\s")
_LEAVE = re.compile(
    r"\W*(?:so |ok,? |now,? )*"
    r"(?:(?:shall|should|can|may) (?:i|we)|(?:do you )?want me to|would you like me to) (?:now )?"
)
_FEW = 3  # words of one thing
_LAST = re.compile(r"(?:^|[,;.] )(?P<before>[^,;.:]+)(?P<mark>[;:]) (?P<value>[^;:?]+)$")
PARTS = re.compile(r"[,;:.?!—–(]\s|\s(?:but|so|yet|while|hence|therefore)\s")


def firm(low: str) -> bool:
    """Whatever it weighs, a rule is one: `if you are ever tempted: don't`, `that could sink us, so it must never
    be`."""
    if re.search(r"[:,] (?:please )?(?:don['’]?t|do not|never)\W*$", low):
        return True
    return bool(phrases.FIRM.search(low)) and not _unreal(low) and not phrases.REPORTED.search(low)


def weighed(low: str) -> bool:
    """Weighed, or told of others."""
    return _unreal(low) > 0 or any(talk.search(low) for talk in (phrases.DOUBT, phrases.REPORTED, phrases.HEARSAY))


def _unreal(low: str) -> int:
    """Where that is said; not so `that is not up for debate`, `if you are not sure`."""
    found = (each for each in phrases.UNREAL.finditer(low) if not _NEGATED.search(low, 0, each.start()))
    return max((each.end() for each in found if not _OTHERS.search(low, 0, each.start())), default=0)


def settled(low: str) -> bool:
    """It weighs something and then decides, each in a clause of its own: `X would have been nice, but we take Y.`"""
    if phrases.HEARSAY.search(low.partition(": ")[0]) and ": " in low:
        return False
    begin = _unreal(low)
    if begin:
        turn = _BUT.search(low, begin)
        low = low[turn.start() :] if turn else ""
    parts = {*PARTS.split(low), *CLAUSES.split(low)}
    if _valued(low) or any(_decides(part) and not weighed(part) and " or " not in part for part in parts):
        return True
    return not phrases.HEARSAY.search(low) and any(map(_chooses, _AND.split(low)[1:]))


def _valued(low: str) -> bool:
    """A number behind a semicolon, or one thing behind a colon and what was said plainly: `60 was perhaps too low; 90
    rows`, `one candidate is left, and I signed it: Caddy`."""
    found = _LAST.search(low)
    if found is None or weighed(found["value"]) or " or " in found["value"]:
        return False
    if found["mark"] == ";":
        return re.search(r"\d", found["value"]) is not None
    plain = found["before"].count(" ") > 1 and not weighed(found["before"])
    return plain and len(found["value"].split()) <= _FEW and not re.search(r",| and ", found["value"])


def _chooses(clause: str) -> bool:
    return bool(phrases.CHOICE.search(clause) or phrases.DECIDED.search(clause)) and not weighed(clause)


def _decides(clause: str) -> bool:
    """Whatever is said plainly: of something, or that it is so or is not."""
    if not words(clause):  # `so let's do that`, `never`
        return bool(phrases.CHOICE.search(clause) or _REFUSES.match(clause))
    if topics(clause).filled or _RULE.search(clause) or phrases.CHOICE.search(clause) or phrases.DECIDED.search(clause):
        return True
    if _STATES.match(clause) and len(words(clause)) > 1:
        return True
    said = topics(clause).spoken or clause.startswith(("now ", "from "))
    return changes.turns(clause) or bool(changes.SHIFT.search(clause) and said)


def asks(low: str) -> bool:
    """Also without a mark; not so `should anybody ask, the cache is Redis`."""
    if not asking.QUESTION.match(low) or "? " in low or ": " in low or low.endswith("."):
        return False
    _, *rest = PARTS.split(low)
    return not any(_decides(part) and not weighed(part) for part in rest)


def momentary(low: str) -> bool:
    """Not so `Look, the cache is Redis now`; `run it on NATS, not on Kafka`; `start with Redis for the cache`."""
    found = asking.MOMENTARY.search(low)
    if not found or _begins_topic(found[0], low):
        return False
    if (asking.MOVING.search(low) or " as " in low) and topics(low).filled:
        return False
    _, *rest = PARTS.split(low)
    if any(phrases.CHOICE.search(part) for part in low.split(" and ")[1:]):
        return False
    return not any(map(_decides, rest)) and not changes.replaces(low)


def asks_leave(text: str) -> bool:
    """Only whether to go on: `Shall I fix it?`, `Should I start layer 2?` A yes to that decides nothing."""
    found = _LEAVE.match(text.lower())
    return found is not None and (len(words(text)) < 2 or momentary(text.lower()[found.end() :]))


def _begins_topic(found: str, low: str) -> bool:
    """`Search index on Meilisearch`: the verb is a noun, the first of a phrase that gets a value."""
    verb = stem(found.split()[-1])
    sure = 1 if verb in _NOUNS_TOO else 2
    return any(each.sure >= sure and len(each.topic) > 1 and each.topic[0] == verb for each in topics(low).filled)
