"""What a message states, sentence by sentence, and what it takes back by that."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from dagentd.model.compaction.local import changes, phrases, prose
from dagentd.model.compaction.local.judging import WEAK, Kind, judged
from dagentd.model.compaction.local.orders import divided
from dagentd.model.compaction.local.passages import passages
from dagentd.model.compaction.local.subjects import Subject, subject, words

_WHERE = re.compile(r"(?:in|on|of|at|from) ")  # something is, and not what
_CHANGES = re.compile(f"{changes.TURN.pattern}|{changes.SHIFT.pattern}", re.IGNORECASE)

_SORRY = words("bad sorry mistake fault wrong oops mixed mix typo accident message comment please")


@dataclass(frozen=True)
class Statement:
    """`after` is what stands before it in the message and colours it: `Change of plan.`, `Forget RabbitMQ.` The rest is
    looked for only when somebody asks: most statements are dropped before."""

    kind: Kind
    text: str
    strength: int
    by_user: bool
    after: Statement | None = None
    beside_change: bool = False  # the sentence before it takes something back
    around: str = ""  # the sentences beside it

    @cached_property
    def low(self) -> str:
        return self.text.lower()

    @cached_property
    def marker(self) -> int:
        """How plainly it says that something changes: 0, 1, 2."""
        own = 2 if changes.turns(self.low) else 1 if changes.SHIFT.search(self.low) else 0
        return max(own, self.after.marker if self.after else 0, int(self.beside_change))

    @cached_property
    def rejected(self) -> tuple[str, ...]:
        """What holds no more."""
        own = _things(changes.REPLACED, self.low) if changes.REPLACES.search(self.low) else ()
        return (*self.after.rejected, *own) if self.after else own

    @cached_property
    def dropped(self) -> tuple[str, ...]:
        """What holds no more, or what it was about."""
        own = _things(changes.DROPPED, self.low)
        return (*self.after.dropped, *own) if self.after else own

    @cached_property
    def points(self) -> bool:
        """At what was just said."""
        return bool(changes.THIS.search(self.low)) or (self.after is not None and self.after.points)

    @cached_property
    def answers(self) -> bool:
        """With a no, and something else."""
        return self.by_user and bool(changes.CONTRARY.search(self.low))

    @cached_property
    def adds(self) -> bool:
        return self.marker < 2 and bool(changes.ALSO.search(self.low))

    @cached_property
    def chooses(self) -> bool:
        return bool(phrases.CHOICE.search(self.low))

    @cached_property
    def about(self) -> Subject:
        """Without the words that only say that something changes."""
        return subject(" ".join(_CHANGES.sub(" ", self.text).split()))

    @property
    def only_told(self) -> bool:
        """By the assistant, which may have meant to describe: no reason to take anything back."""
        return not self.by_user and (self.kind, self.strength) == ("decision", WEAK)

    @property
    def only_points(self) -> bool:
        """At what was just said, and says nothing else: `ignore my last message, sorry`."""
        said = (self.about.content | self.about.values).difference(_SORRY, *map(words, self.dropped))
        return self.points and not said

    @property
    def only_rejects(self) -> bool:
        """It says what no longer holds and not what holds instead."""
        if self.marker < 2 or not (self.rejected or self.dropped or self.points):
            return False
        gone = [subject(each) for each in (*self.rejected, *self.dropped)]
        left = (self.about.content | self.about.values).difference(*(each.content | each.values for each in gone))
        return not left


def statements(said: Iterable[prose.Sentence], by_user: bool) -> Iterator[Statement]:
    """Of one message, in order."""
    before: Statement | None = None
    turned = False
    every = [part for one in passages(said) for part in divided(one)] if by_user else list(said)
    for at, sentence in enumerate(every):
        if before is not None and before.strength and sentence.first:
            yield before
            before = None
        text = prose.ungreeted(sentence.text)
        rated = judged(text, sentence.lead, by_user)
        if rated is None:
            idle = Statement("fact", text, 0, by_user, before)
            before = idle if by_user and idle.marker > 1 else before
            continue
        kind: Kind = "decision" if before is not None and rated[0] == "request" else rated[0]
        beside = turned and not sentence.first
        found = Statement(kind, prose.shortened(text), rated[1], by_user, before, beside, _around(every, at))
        turned = by_user and changes.turns(found.low)
        if found.kind == "request":
            yield found
        elif found.only_rejects:
            before = found
        else:
            before = None
            yield found
    if before is not None and before.strength:
        yield before


def _around(every: list[prose.Sentence], at: int) -> str:
    """Of the same paragraph."""
    earlier = every[at - 1].text if at and not every[at].first else ""
    later = every[at + 1].text if at + 1 < len(every) and not every[at + 1].first else ""
    return f"{earlier} {later}"


def _things(named: re.Pattern[str], low: str) -> tuple[str, ...]:
    found = (group for match in named.finditer(low[:600]) for group in match.groups() if group)
    return tuple(dict.fromkeys(one for one in found if not _WHERE.match(one)))
