"""What was stated so far, found by what it is about: a statement is new, says the same or takes another's place."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import islice

from dagentd.model.compaction.items import Item
from dagentd.model.compaction.items import new as item_of
from dagentd.model.compaction.local import prose
from dagentd.model.compaction.local.contradiction import certainty, repeats
from dagentd.model.compaction.local.draft import Draft
from dagentd.model.compaction.local.judging import judged
from dagentd.model.compaction.local.slots import on_topic
from dagentd.model.compaction.local.statements import Statement
from dagentd.model.compaction.local.subjects import Words, likeness, subject, words
from dagentd.model.compaction.local.topics import topics
from dagentd.model.compaction.operations import ListName

# Words of a statement and of the sentences beside it, and items for each, that are looked at: cost does not grow with
# the session.
_RAREST, _BESIDE, _EACH = 6, 4, 16
_NEAR = 4  # messages back to which "scrap that" may point
_NEXT = 2  # and to which a mere "no" may


class Matters:
    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._about: dict[str, dict[str, None]] = defaultdict(dict)
        self._count = 0
        self._last: tuple[str, int] = ("", -_NEAR - 1)
        self._question = -1
        for item in draft:
            if is_stated(item):
                self._index(item)

    def take(self, new: Statement, name: ListName, source: str, position: int, wanted: bool) -> None:
        """`wanted` is whether there is room for it as an item of its own."""
        if (known := self._draft.get(item_of(name, new.text, (), "").id)) is not None and not known.resolved:
            self._draft.also(known.id, source)
            self._last = "", position  # `ignore my last message` leaves what was said before as well
            return
        found = self._candidates(new)
        if new.marker < 2 and not new.rejected:  # else nobody takes back in the same breath what he said
            found = [item for item in found if item.sources != (source,)]
        same = [item for item in found if repeats(new, item.text, self.weight)]
        replaced = (
            []
            if (same and (not new.by_user or not new.marker)) or new.only_told
            else self._replaced(new, [i for i in found if i not in same])
        )
        replaced = replaced or ([] if same else self._pointed(new, position))
        if replaced:
            self._supersede(new, name, replaced, source, position)
        elif same:
            self._draft.also(same[0].id, source)
        elif wanted and not new.only_points:
            self._keep(self._draft.add(name, new.text, source), new, position)

    def reverses(self, new: Statement, position: int) -> bool:
        """Whether it names an earlier decision that it changes, or answers one."""
        if new.answers and self._pointed(new, position):
            return True
        sure = 0.5 if new.marker > 1 and (new.rejected or new.dropped) else 0.9
        found = (item for item in self._candidates(new) if item.list == "decisions")
        return any(certainty(new, item.text, self.weight) >= sure for item in found)

    def asked(self, position: int) -> None:
        """A no that comes after this is an answer to a question, and takes nothing back."""
        self._question = position

    def weight(self, word: str) -> float:
        return math.log(2 + self._count / max(1, len(self._about.get(word, ()))))

    def _candidates(self, new: Statement) -> list[Item]:
        own = _all_words(new.text).union(*map(_all_words, (*new.rejected, *new.dropped)))
        rarest = [*self._rarest(own)[:_RAREST], *self._rarest(_all_words(new.around) - own)[:_BESIDE]]
        ids = dict.fromkeys(id for word in rarest for id in islice(reversed(self._about[word]), _EACH))
        held = (self._draft.get(id) for id in ids)
        return [item for item in held if item is not None and not item.resolved]

    def _rarest(self, some: Words) -> list[str]:
        return sorted((word for word in some if word in self._about), key=lambda word: (len(self._about[word]), word))

    def _replaced(self, new: Statement, found: list[Item]) -> list[Item]:
        """The one that it reverses most surely, and whatever else says the same as that one."""
        if new.kind == "fact" and not new.by_user:
            found = [item for item in found if item.list != "decisions"]
        rated = [(certainty(new, item.text, self.weight), at) for at, item in enumerate(found) if not item.pinned]
        best = max(rated, key=lambda pair: (pair[0], -pair[1]), default=(0.0, 0))
        if best[0] <= 0:
            return []
        first = found[best[1]]
        about = subject(first.text).content
        return [first] + [
            found[at] for rate, at in rated if rate > 0 and at != best[1] and self._as_well(new, about, found[at].text)
        ]

    def _as_well(self, new: Statement, about: Words, text: str) -> bool:
        return on_topic(new, text) > 0 or likeness(about, subject(text).content, self.weight) >= 0.75

    def _pointed(self, new: Statement, position: int) -> list[Item]:
        """What it takes back without a word of it: what was just said."""
        item, distance = self._draft.get(self._last[0]), position - self._last[1]
        if item is None or item.pinned or item.resolved or distance > _NEAR or topics(new.text).filled:
            return []
        answers = new.answers and distance <= _NEXT and self._question < self._last[1]
        alike = bool(subject(new.text).values) == bool(subject(item.text).values)
        return [item] if new.points or (answers and alike) else []

    def _supersede(self, new: Statement, name: ListName, replaced: list[Item], source: str, position: int) -> None:
        text = new.text
        if about := _missing(new, replaced[0].text):
            text = f"{text.rstrip('.')} ({about})"
        remarks = self._remarks(replaced, source)
        if remarks and sum(len(item.text) for item in remarks) + len(text) < prose.LONGEST:
            text = " ".join([*(item.text for item in remarks), text])
            replaced = [*replaced, *remarks]
        after = []
        for item in replaced:
            self._forget(item)
            if rest := _apart(item.text, new):
                self._index(self._draft.supersede(item, rest, source))
            elif item.list == name:
                after.append(self._draft.supersede(item, text, source))
            else:
                self._draft.resolve(item, source)
        self._keep(after[-1] if after else self._draft.add(name, text, source), new, position)

    def _remarks(self, replaced: list[Item], source: str) -> list[Item]:
        """What the same message says of what is replaced, and of nothing else: the reason, a part of the change."""
        names = sorted(frozenset[str]().union(*(subject(item.text).names for item in replaced)))
        ids = dict.fromkeys(id for name in names for id in islice(reversed(self._about.get(name, {})), _EACH))
        found = (self._draft.get(id) for id in ids if id not in {item.id for item in replaced})
        beside = [item for item in found if item is not None and not item.resolved and item.sources == (source,)]
        return [item for item in beside if item.list == replaced[0].list and not topics(item.text).filled]

    def _keep(self, item: Item, new: Statement, position: int) -> None:
        self._index(item)
        if new.by_user or new.kind == "decision":
            self._last = item.id, position

    def _index(self, item: Item) -> None:
        self._count += 1
        for word in _all_words(item.text):
            self._about[word][item.id] = None

    def _forget(self, item: Item) -> None:
        self._count -= 1
        for word in _all_words(item.text):
            self._about[word].pop(item.id, None)


def _apart(old: str, new: Statement) -> str:
    """Of sentences that stood together those that speak of something else than the new one: they still hold."""
    parts = [one.text for one in prose.sentences(old)]
    about = words(f"{new.text} {new.around}")
    rest = [part for part in parts if topics(part).marked and not words(part) & about]
    return " ".join(rest) if len(parts) > 1 and any(judged(part, "", True) for part in rest) else ""


def _all_words(text: str) -> Words:
    about = subject(text)
    return about.content | about.values | about.units


def is_stated(item: Item) -> bool:
    """In somebody's words, as opposed to a record of work."""
    return item.list == "decisions" or (
        item.list == "completed" and not item.text.startswith(("Edited ", "Ran `", "Check `"))
    )


def _missing(new: Statement, old: str) -> str:
    """What the earlier statement was about, where the later one does not say: a bare number, `no, sqlite`."""
    if not subject(new.text).content:
        return _surface(old, subject(old).content)
    if not (new.answers or new.points) or topics(new.text).main:
        return ""
    return _surface(old, frozenset(stem for each in topics(old).filled[:1] for stem in each.topic))


def _surface(text: str, wanted: Words) -> str:
    return " ".join(word.strip(",;:.") for word in text.split() if words(word) & wanted)
