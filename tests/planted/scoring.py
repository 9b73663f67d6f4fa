"""How much of what was planted a reader of the items would know."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

from dagentd.model.compaction.items import Item
from tests.planted.facts import KINDS, Distractor, Fact, Kind, Needs

_SPELT = (("n't", " not"), ("dont ", "do not "), ("cannot", "can not"), ("wont ", "will not "), ('\\"', '"'))
# "use it for the cart Does that work?" is what becomes of two lines, and no question.
_ASKING = re.compile(r"(should|shall|could|can|would|will|do|does|is|are|what|why|how|which|who|any)\b", re.IGNORECASE)
_MARKS = re.compile(r"[`*\"“”‘’]")


@dataclass(frozen=True)
class Score:
    """After some rounds: per kind how many facts hold and how many of these the items tell."""

    planted: dict[Kind, int]
    kept: dict[Kind, int]
    lost: tuple[Fact, ...]
    old_sides: tuple[Fact, ...]  # replaced since, but an item still says it
    stale: tuple[Fact, ...]  # a failure that was fixed or a request that was done, still listed as open
    distracted: tuple[Distractor, ...]  # what was none, and became an item
    sourceless: int
    misattributed: int  # items with a source that is no message of the rounds seen

    def share(self, *kinds: Kind) -> float:
        """Of these kinds, or of all."""
        wanted = kinds or KINDS
        planted = sum(self.planted[kind] for kind in wanted)
        return sum(self.kept[kind] for kind in wanted) / planted if planted else 1.0


def score(
    facts: Sequence[Fact], distractors: Sequence[Distractor], items: Sequence[Item], rounds: int, ids: Collection[str]
) -> Score:
    """`rounds` is how many rounds the items come from, `ids` those of all messages in these."""
    live = [fact for fact in facts if fact.live(rounds)]
    kept = [fact for fact in live if any(tells(item, fact) for item in items)]
    over = [fact for fact in facts if fact.planted(rounds) and fact.ended(rounds)]
    return Score(
        planted={kind: sum(fact.kind == kind for fact in live) for kind in KINDS},
        kept={kind: sum(fact.kind == kind for fact in kept) for kind in KINDS},
        lost=tuple(fact for fact in live if fact not in kept),
        old_sides=tuple(fact for fact in over if fact.successor and any(still_says(item, fact) for item in items)),
        stale=tuple(fact for fact in over if not fact.successor and any(still_open(item, fact) for item in items)),
        distracted=tuple(one for one in distractors if any(mentions(item.text, one.needs) for item in items)),
        sourceless=sum(not item.sources for item in items),
        misattributed=sum(not set(item.sources) <= set(ids) for item in items),
    )


def tells(item: Item, fact: Fact) -> bool:
    """What is listed as completed is no decision, and nothing that is to be done; a resolved item is over."""
    if item.resolved or (item.list == "completed") != (fact.kind == "completed"):
        return False
    return _says(item, fact) and not _only_asks(item, fact)


def still_says(item: Item, fact: Fact) -> bool:
    """The old side of a reversal; an item that also names a newer side tells the reversal itself."""
    newer, after = [], fact.successor
    while after:
        newer.append(after.needs[:1])
        after = after.successor
    said = not item.resolved and item.list != "completed" and mentions(item.text, fact.needs)
    return said and not any(mentions(item.text, needs) for needs in newer)


def still_open(item: Item, fact: Fact) -> bool:
    return not item.resolved and item.list in ("blockers", "pending", "inProgress") and _says(item, fact)


def mentions(text: str, needs: Needs) -> bool:
    found: Callable[[str], bool] = lambda token: _pattern(token).search(_flat(text)) is not None  # noqa: E731
    return all(any(map(found, group)) for group in needs)


def _says(item: Item, fact: Fact) -> bool:
    return mentions(item.text, fact.needs)


def _only_asks(item: Item, fact: Fact) -> bool:
    """A question about the choice tells nobody that it was made; where the fact was put as a question, it does."""
    if "?" in fact.said or fact.kind in ("request", "error", "completed"):
        return False
    sentences = [one for one in re.split(r"(?<=[.!?])\s+", item.text) if mentions(one, fact.needs[:1])]
    return bool(sentences) and all(one.endswith("?") and _ASKING.match(one) for one in sentences)


@lru_cache(maxsize=4096)
def _flat(text: str) -> str:
    text = " ".join(text.casefold().split())
    for spelt, plain in _SPELT:
        text = text.replace(spelt, plain)
    return " ".join(_MARKS.sub("", text).replace("'", "").split())


@lru_cache(maxsize=4096)
def _pattern(token: str) -> re.Pattern[str]:
    """A whole word, number or path; the plural of a word too. `40` is neither in 400 nor in 1.40, and a folder is not
    told by a file in it."""
    flat = _flat(token)
    before = r"(?<![\w.-])" if flat[0].isdigit() else r"(?<!\w)" if flat[0].isalnum() else ""
    after = r"(?!\d|[.,]\d)" if flat[-1].isdigit() else r"s?(?![\w/])" if flat[-1].isalnum() else r"(?!\w)"
    return re.compile(before + re.escape(flat) + after)
