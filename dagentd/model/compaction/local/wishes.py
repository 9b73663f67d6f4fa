"""What the user asked for: open until something shows that it was done or withdrawn, and what is being worked on."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from itertools import islice

from dagentd.model.compaction.items import Item
from dagentd.model.compaction.local import asking, prose
from dagentd.model.compaction.local.contradiction import certainty
from dagentd.model.compaction.local.draft import Draft
from dagentd.model.compaction.local.objects import objects, of_others, recounted
from dagentd.model.compaction.local.statements import Statement
from dagentd.model.compaction.local.subjects import Words, containment, likeness, subject, words

_INSIDE = re.compile(r"(?<=\w)[./_](?=\w)")
MOST = 40  # open ones; these never leave a checkpoint for want of room
_DONE = 0.6
_SAME = 0.85


class Wishes:
    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._about: dict[str, dict[str, None]] = defaultdict(dict)
        for item in [*draft.open("pending"), *draft.open("inProgress")]:
            self._index(item)

    def take(self, wish: Statement, source: str) -> str:
        """Its id; the same wish twice is one."""
        about = words(wish.text)
        for item in self._sharing(about):
            alike = likeness(about, words(item.text), self._weight) >= _SAME
            if alike and objects(wish.text) == objects(item.text) and not recounted(wish.text, item.text):
                self._draft.also(item.id, source)
                return item.id
        if changed := self.changed(wish, source):
            return changed[-1].id
        item = self._draft.add("pending", wish.text, source)
        self._index(item)
        return item.id

    def changed(self, new: Statement, source: str) -> list[Item]:
        """What was asked for otherwise: of a wish that is reversed only the newest side stays."""
        old = [item for item in self._reversed(new, 0.5) if _changes(new, item.text)]
        for item in old:
            self._forget(item)
        after = [self._draft.supersede(item, new.text, source) for item in old]
        for item in after[-1:]:
            self._index(item)
        return after

    def decided(self, new: Statement, source: str) -> bool:
        """A decision takes the place of a wish that it decides otherwise; whether it is a wish itself."""
        asks = bool(asking.REQUEST.search(new.low)) and not asking.MEANS.search(new.low)
        if asks and self.changed(new, source):
            return True
        for item in self._reversed(new, 0.4):
            if item.list == "pending":
                self._draft.resolve(item, source)
                self._forget(item)
        return False

    def _reversed(self, new: Statement, sure: float) -> list[Item]:
        return [item for item in self._sharing(words(new.text)) if certainty(new, item.text, self._weight) >= sure]

    def done(self, claim: str, evidence: bool, *sources: str) -> bool:
        """A claim closes what it speaks of: as completed where something shows it, else only as no longer open."""
        closed = [item for item in self._sharing(words(claim)) if self._covers(claim, item)]
        for item in closed:
            self.close(item, evidence, *sources)
        return bool(closed)

    def close(self, item: Item, evidence: bool, *sources: str) -> None:
        if evidence:
            self._draft.move(item, "completed", *sources)
        else:
            self._draft.resolve(item, *sources)
        self._forget(item)

    def withdrawn(self, sentence: str, source: str) -> bool:
        """Never mind the dark mode."""
        if not asking.WITHDRAWN.search(sentence.lower()):
            return False
        about = words(sentence)
        closed = [item for item in self._sharing(about) if containment(about, words(item.text), self._weight) >= _DONE]
        for item in closed:
            self.close(item, False, source)
        return bool(closed)

    def cap(self, source: str) -> None:
        """The oldest beyond the limit; those that somebody wrote into the file by hand have no source and stay."""
        mine = [item for item in self._draft.open("pending") if item.sources]
        for item in mine[: max(0, len(mine) - MOST)]:
            self._draft.resolve(item, source)
            self._forget(item)

    def get(self, id: str) -> Item | None:
        item = self._draft.get(id)
        return (
            item if item and item.list in ("pending", "inProgress") and not item.resolved and not item.pinned else None
        )

    def _covers(self, claim: str, item: Item) -> bool:
        about, said = (words(text) | subject(text).values for text in (item.text, claim))
        if len(about) < 2 or of_others(claim, item.text):
            return False
        return containment(about, said, self._weight) >= _DONE

    def _sharing(self, about: Words) -> list[Item]:
        ids = sorted({id for word in about for id in islice(reversed(self._about.get(word, {})), MOST)})
        return [item for item in map(self.get, ids) if item is not None]

    def _weight(self, word: str) -> float:
        return math.log(2 + MOST / max(1, len(self._about.get(word, ()))))

    def _index(self, item: Item) -> None:
        for word in words(item.text):
            self._about[word][item.id] = None

    def _forget(self, item: Item) -> None:
        for word in words(item.text):
            self._about[word].pop(item.id, None)


def _changes(new: Statement, old: str) -> bool:
    """Whoever asks for something more says so no less plainly than for the first; only what takes something back or
    counts otherwise is a change."""
    if new.marker > 1 or new.rejected or new.dropped:
        return True
    return recounted(new.text, old) and not of_others(new.text, old)


def answers(sentences: list[prose.Sentence], told: list[str], wish: str) -> bool:
    if any(asking.LEFT.search(one.text[:300].lower()) for one in sentences):
        return False
    return any(_names(claim) & _names(wish) for claim in told)


def _names(text: str) -> Words:
    """Also of what a file is called: `GUIDE.md` has the word guide."""
    return words(text) | words(_INSIDE.sub(" ", text))


def claims(sentences: list[prose.Sentence]) -> list[str]:
    """That something is done, said plainly: not what is left, planned or asked."""
    lowered = ((one.text, one.text[:300].lower()) for one in sentences)
    return [text for text, low in lowered if asking.CLAIMED.search(low) and not asking.UNDONE.search(low)]
