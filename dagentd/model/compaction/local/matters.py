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

_RAREST, _EACH = (
    6,
    16,
)  # words of a statement, and items for each, that are looked at: cost does not grow with the session
_NEAR = 4  # messages back to which "scrap that" may point


class Matters:
    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._about: dict[str, dict[str, None]] = defaultdict(dict)
        self._count = 0
        self._last: tuple[str, int] = ("", -_NEAR - 1)
        for item in draft:
            if is_stated(item):
                self._index(item)

    def take(self, new: Statement, name: ListName, source: str, position: int, wanted: bool) -> None:
        """`wanted` is whether there is room for it as an item of its own."""
        if (known := self._draft.get(item_of(name, new.text, (), "").id)) is not None and not known.resolved:
            self._draft.also(known.id, source)
            return
        found = self._candidates(new)
        same = [item for item in found if repeats(new, item.text, self.weight)]
        replaced = (
            []
            if same and (not new.by_user or not new.marker)
            else self._replaced(new, [i for i in found if i not in same])
        )
        replaced = replaced or ([] if same else self._pointed(new, position))
        if replaced:
            self._supersede(new, name, replaced, source, position)
        elif same:
            self._draft.also(same[0].id, source)
        elif wanted:
            self._keep(self._draft.add(name, new.text, source), new, position)

    def reverses(self, new: Statement) -> bool:
        """Whether it names an earlier decision that it changes."""
        return any(
            item.list == "decisions" and certainty(new, item.text, self.weight) >= 0.9 for item in self._candidates(new)
        )

    def weight(self, word: str) -> float:
        return math.log(2 + self._count / max(1, len(self._about.get(word, ()))))

    def _candidates(self, new: Statement) -> list[Item]:
        some = _all_words(new.text).union(*map(_all_words, (*new.rejected, *new.dropped)))
        rarest = sorted((word for word in some if word in self._about), key=lambda word: (len(self._about[word]), word))
        ids = dict.fromkeys(id for word in rarest[:_RAREST] for id in islice(reversed(self._about[word]), _EACH))
        held = (self._draft.get(id) for id in ids)
        return [item for item in held if item is not None and not item.resolved]

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
        item = self._draft.get(self._last[0])
        near = position - self._last[1] <= _NEAR
        near = near and not topics(new.text).filled
        return [item] if new.points and near and item and not item.pinned and not item.resolved else []

    def _supersede(self, new: Statement, name: ListName, replaced: list[Item], source: str, position: int) -> None:
        text = new.text
        if not subject(text).content and (about := _surface(replaced[0].text)):
            text = f"{text.rstrip('.')} ({' '.join(about)})"
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

    def _keep(self, item: Item, new: Statement, position: int) -> None:
        self._index(item)
        if new.by_user:
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


def _surface(text: str) -> list[str]:
    """The words of an earlier statement without its values, to say what a later one is about."""
    wanted = subject(text).content
    return [word for word in text.split() if words(word) & wanted]
