"""What one sentence is: a decision or a limit, a wish, a fact with something definite in it, or only talk."""

from __future__ import annotations

import re
from typing import Literal

from dagentd.model.compaction.local import asking, changes, holding, meant, phrases
from dagentd.model.compaction.local.chunks import Chunk
from dagentd.model.compaction.local.subjects import is_place, subject, words
from dagentd.model.compaction.local.topics import topics

Kind = Literal["decision", "request", "fact"]
Rated = tuple[Kind, int]
STRONG, MEDIUM, WEAK = 3, 2, 1

# What a reader would miss if it were gone: a number, a path, an address, a name in code.
_PRECISE = re.compile(
    r"\d|`[^`]+`|(?<![\w<])(?:[\w.@~-]*/)+[\w.-]+|\b\w+\.(?:[a-z]{1,4}\d?|[a-z]{1,3}json|toml|yaml|lock)\b"
    r"|\b[a-z]+_[a-z_]+\b|\b[A-Z]{2,}[A-Z0-9_-]+\b"
)
_NAMED = re.compile(r"(?<=[^.!?] )(?!I\b)[A-Z][\w.+#-]+|\b\w*[a-z][A-Z]\w*|\b[A-Z]{2,}\b")
_NOT_STATED = (phrases.PROPOSAL, phrases.REPORTED)
_ALTERNATIVES = re.compile(r"\bor\b|\b(?:two|three|several|some|other) (?:ways|options|possibilities|approaches)\b")
_ALTERNATIVE = re.compile(r"\b(?:which|either|both (?:are|would|work|can|possible))\b|\bboth [^,.;]+ and\b")
_OWN = re.compile(r"\b(?:i|we|my|our|me|now)\b|from here|^\W*(?:settled|decided|verdict|conclusion|decision|outcome)\b")
_AWAITED = re.compile(
    r"\b(?:if|unless|once|when|provided|assuming) you\b"
    r"|\b(?:confirm|approv\w+|waiting|your (?:ok|okay|go))\b"
)
# What was done, and to which file: work that is claimed, however much it looks like a choice for something.
_DEED = re.compile(
    r"\W*(?:(?:all )?done[.:!]? )?(?:(?:i|we)(?:['’]ve| have)? (?:now |just |also )?)?"
    r"(?:add|creat|updat|remov|delet|fix|edit|renam|committ|implement|wrote|written)(?:e?d)?\s(?:the\s|a\s|new\s)*"
    r"(?:`[^`]+`|\S*\w\.[a-z]{1,5}\b|\S+/\S+)|[^.:,]{2,60} (?:is|are) (?:now |all )?(?:done|completed?|finished)\b"
)
_REFUSED = re.compile(r"\w\? (?:no|not|never|don['’]?t|do not)\b(?! (?:sure|idea|urgent|problem|yet|a problem))")


def judged(text: str, lead: str, by_user: bool) -> Rated | None:
    """`lead` is what it stands under, in a list."""
    low = text.lower()
    if len(text) < 4 or phrases.STEERING.search(low):
        return None
    return _of_user(text, low, lead.lower()) if by_user else _of_assistant(text, low, lead.lower())


def _of_user(text: str, low: str, lead: str) -> Rated | None:
    if phrases.LABEL.search(low) or (lead and phrases.LABEL.search(lead)):
        return ("decision", STRONG) if not text.endswith((":", "：")) else None
    polite = asking.POLITE.search(low)
    if polite and not asking.OPINION.search(low) and (ordered := _ordered(low[polite.end() :])):
        return ordered
    if polite and not meant.settled(low[: polite.start()]):
        return None
    if (asked := asking.TAKE_IT.search(low)) and not meant.weighed(low[: asked.start()]):
        return "request", STRONG
    plain = asking.TAG.sub("", low)
    if plain.endswith(("?", "？")):
        return ("decision", STRONG) if _proposes_change(low) else None
    if meant.weighed(plain) and not meant.firm(plain) and not meant.settled(plain):
        return ("request", STRONG) if asking.WISHED.search(plain) else _behind_colon(text)
    if phrases.FIRM.search(plain):
        return "decision", STRONG
    if meant.asks(plain):
        return None
    if asking.DEFERRED.search(plain):
        return "request", STRONG
    return _stated_by_user(plain, changes.turns(plain)) or _told(text, plain)


def _proposes_change(low: str) -> bool:
    """Put as a question, and nobody would say no: what there is was spoken against."""
    if asking.MAY_WE.match(low):
        return changes.turns(low)
    found = asking.MAY_WE_NOW.search(low)
    if found is None or meant.weighed(low[: found.start()]):
        return False
    return bool(changes.AGAINST.search(low[: found.start()])) and bool(topics(low[found.end() :]).filled)


def _ordered(low: str) -> Rated | None:
    """A polite question is an order; what it asks for may be over with the answer."""
    order = low.rstrip("?.! ")
    if meant.weighed(order) and not meant.settled(order):
        return None
    if meant.momentary(order) and not subject(order).units:
        _, *rest = meant.CLAUSES.split(order)
        return ("request", STRONG) if any(map(asking.REQUEST.search, rest)) else None
    if phrases.FIRM.search(order):
        return "decision", STRONG
    return _stated_by_user(order, changes.turns(order)) or ("request", STRONG)


def _stated_by_user(low: str, turned: bool) -> Rated | None:
    """What he says plainly. To take something back and name what holds instead is a decision, also as an order; so
    is to ask oneself and say no."""
    if _REFUSED.search(low):
        return "decision", STRONG
    if asking.REQUEST.search(low) and not _valued(low) and not (turned and phrases.CHOICE.search(low)):
        return "request", STRONG
    if turned or phrases.CHOICE.search(low):
        return "decision", STRONG
    if meant.momentary(low):
        return None
    if asking.PROBLEM.search(low):
        return "request", MEDIUM
    return ("decision", STRONG) if phrases.CONSTRAINT.search(low) else None


def _valued(low: str) -> bool:
    """An order that says what something is to be or to be made with: `build the mail delivery with Mailgun`."""
    values = [each.value for each in topics(low).filled if each.sure > 1]
    return any(value.counts and value.stems[0][0].isdecimal() for value in values) or bool(asking.MEANS.search(low))


def _told(text: str, low: str) -> Rated | None:
    """Whatever else he says: what has something definite in it is worth keeping, other talk while there is room."""
    if "? " in text:  # his own question, answered in the same breath
        return "decision", STRONG
    momentary = meant.momentary(low)
    if asking.PLEASE.search(low) and not momentary and not phrases.KEYED.match(low) and not topics(low).filled:
        return "request", STRONG
    if momentary:  # over with the next minute, however precise; unless it says what, where or how many something is
        says = phrases.KEYED.match(low) or topics(text).filled or is_place(subject(text).names) or subject(text).units
        return ("fact", MEDIUM) if says else None
    if phrases.TALK.match(low):
        precise = _PRECISE.search(text) or phrases.KEYED.match(low)
        return _behind_talk(text) or (("fact", WEAK) if precise else None)
    if any(each.sure == 3 and _is_choice(each.value) for each in topics(text).filled):
        return "decision", STRONG
    if asking.orders(low):
        return ("decision" if asking.MEANS.search(low) else "request"), STRONG
    if _PRECISE.search(text) or phrases.KEYED.match(low) or _NAMED.search(text) or low.startswith(("please ", "pls ")):
        return "fact", MEDIUM
    if text.endswith((":", "：")) or (text.isascii() and len(words(text)) < 2):
        return None
    return ("fact", WEAK) if len(text) >= 6 else None


def _behind_colon(text: str) -> Rated | None:
    """What is led up to by a word that weighs: `my wish list has one entry: rotate the tokens`."""
    intro, _, rest = text.rpartition(": ")
    low = intro.lower()
    if len(words(rest)) < 2 or not phrases.LISTED.search(low) or rest.endswith("?"):
        return None
    rated = judged(rest, "", True)
    return rated and ("request", STRONG)


def _behind_talk(text: str) -> Rated | None:
    """`Looks good, but the proxy needs Caddy.`"""
    _, comma, rest = text.partition(", ")
    rated = judged(rest, "", True) if comma and words(rest) else None
    return rated if rated is not None and rated[1] > WEAK else None


def _is_choice(value: Chunk) -> bool:
    return value.named or value.counts or len(value.stems) <= 2


def _of_assistant(text: str, low: str, lead: str) -> Rated | None:
    if text.endswith(("?", "？", ":", "：")) or any(talk.search(low) for talk in _NOT_STATED):
        return None
    if _AWAITED.search(low) or (_hedged(low) and not _decided(low)):
        return None
    if _DEED.match(low):
        return "fact", WEAK
    if phrases.LABEL.search(low) or (lead and phrases.LABEL.search(lead)):
        return "decision", STRONG
    if phrases.DECIDED.search(low):
        return "decision", STRONG
    if _made(text, low) and not _ALTERNATIVES.search(low):
        return "decision", MEDIUM
    precise = bool(_PRECISE.search(text)) and not _ALTERNATIVES.search(low)
    if (phrases.FIRM.search(low) and precise) or _holds(low):
        return "decision", WEAK
    return ("fact", WEAK) if precise and phrases.VALUE_VERB.search(low) else None


def _holds(low: str) -> bool:
    if _ALTERNATIVES.search(low) or _ALTERNATIVE.search(low):
        return False
    return holding.gives_numbers(low) or (len(words(low)) > 1 and holding.holds(low))


def _made(text: str, low: str) -> bool:
    """It says what it took for some use."""
    own, holds, made = _OWN.search(low), phrases.HOLDS_NOW.search(low), phrases.MADE.search(low)
    if not (own or holds or made or _NAMED.search(text)) or "`" in text or _ALTERNATIVE.search(low):
        return False  # before the costly part
    said = topics(text)
    if any(each.sure == 3 and (each.value.named or (own and _is_choice(each.value))) for each in said.filled):
        return True
    if made and (said.filled or (said.spoken and _NAMED.search(text))):
        return True
    return bool((said.filled or said.spoken) and holds)


def _decided(low: str) -> bool:
    parts = meant.PARTS.split(low)
    return any(phrases.DECIDED.search(part) and not _hedged(part) for part in parts)


def _hedged(low: str) -> bool:
    return any(doubt.search(low) for doubt in (phrases.UNREAL, phrases.DOUBT, phrases.HEDGED))
