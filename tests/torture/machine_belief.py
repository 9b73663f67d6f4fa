"""What may be true of a session after each thing that was done to it, by the model, and whether it is what is true.

Whoever watches from outside cannot know when dagentd looks at a file: so there may be several ways, until the journal
says which it was."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tests.torture import model, reader
from tests.torture.machine_writers import THEIRS, Saved, Writers
from tests.torture.model import Known, Lists, State, Written, lists_of, name_of

MOST_UNSEEN = 3  # saves that dagentd may not have seen; more of them only take longer to reason about
_LONG_AGO, _NOT_YET = float("-inf"), float("inf")


@dataclass(frozen=True)
class Observed:
    """What the journal says now."""

    told: reader.Told

    @property
    def here(self) -> frozenset[str]:
        return frozenset(name_of(self.told.content[one]) for one in self.told.chat)

    @property
    def texts(self) -> dict[str, str]:
        return {name_of(one): str(one["content"]) for one in self.told.content.values()}

    @property
    def moved(self) -> dict[str, int]:
        return {name_of(self.told.content[one]): end for one, end in self.told.moved.items()}

    @property
    def stamps(self) -> dict[str, str]:
        return {name_of(one): str(one["timestamp"]) for one in self.told.content.values()}

    @property
    def lists(self) -> Lists:
        return lists_of(self.told.checkpoint)

    @property
    def in_order(self) -> list[list[str]]:
        summary = (self.told.checkpoint or {}).get("summary") or {}
        return [[str(one) for one in summary.get(name) or []] for name in model.LISTS]

    @property
    def version(self) -> int:
        return int((self.told.checkpoint or {}).get("version", 0))

    def is_one_of(self, state: State) -> bool:
        session = self.told.session
        return (
            state.here == self.here
            and {name: said[-1] for name, said in state.texts.items()} == self.texts
            and state.lists == self.lists
            and state.archived == (session.get("status") == "archived")
            and state.fields == {key: value for key, value in session.items() if key.startswith(THEIRS)}
            and state.pinned == frozenset(session.get("pinnedMessages") or ())
        )


Op = Callable[[State, Observed], Iterator[State]]


def nothing(state: State, seen: Observed) -> Iterator[State]:
    yield state


@dataclass(frozen=True)
class Possible:
    """One way it may be: a state, which saves are not taken in yet, and who came from those by a glance."""

    state: State
    unseen: tuple[Written, ...] = ()
    brought: frozenset[str] = frozenset()

    def glances(self) -> Iterator[Possible]:
        yield self
        for each in self.unseen:
            if each.chat is not None and not each.legacy:
                after = each.glanced_at(self.state)
                new = after.texts.keys() - self.state.texts.keys()
                yield replace(self, state=after, brought=self.brought | new)


class Belief:
    def __init__(self, writers: Writers) -> None:
        self._writers = writers
        self.possible = [Possible(State())]
        self.seen = Observed(reader.replay(b""))
        self.saves: dict[int, Saved] = {}  # that dagentd may not have seen
        self.answered: list[str] = []  # ours, in the order in which they were acknowledged
        self._orphans: set[int] = set()  # saves that we died over: what they removed may come back
        self._opened = False  # by the process that lives: one that never looked knows nothing of the chat on disk
        self._on_disk: dict[str, tuple[float, float]] = {}  # since when a message is in chat on disk: between these

    @property
    def lists(self) -> Lists:
        return self.seen.lists

    @property
    def pinned(self) -> frozenset[str]:
        """Items of the checkpoint."""
        items = (self.seen.told.checkpoint or {}).get("items") or []
        return frozenset(str(item["text"]) for item in items if item.get("pinned"))

    # --- what we did ------------------------------------------------------------------------------------------

    def observe(
        self, op: Op, begin: float, end: float, died: bool = False, opened: bool = False, glanced: bool = False
    ) -> None:
        """Something was done between two moments; the journal must be one that it may have led to. `opened`: the
        session was, for that. `glanced`: before that, what is new in a chat may have been taken in alone."""
        before, seen = self.seen, self._look()
        self._opened |= opened
        self._check(seen)
        if died:
            self._orphans |= {number for number, save in self.saves.items() if not save.is_there()}
        known = self._known(begin, end)
        starts = [one for each in self.possible for one in each.glances()] if glanced else self.possible
        found = [
            replace(one, state=replace(one.state, version=seen.version))
            for start in starts
            for one in self._ways(start, op, known, seen, died)
            if seen.is_one_of(one.state)
        ]
        assert found, self._explained(seen, died)
        assert seen.version >= before.version, "a version fell"
        self.possible = [one for number, one in enumerate(found) if one not in found[:number]]
        self.seen = seen
        waiting = {written.number for one in self.possible for written in one.unseen}
        self.saves = {number: save for number, save in self.saves.items() if number in waiting}
        if died:  # in a chat that we wrote before it, and that the power failure took with it
            self._on_disk = dict.fromkeys(seen.here, (begin, _NOT_YET)) | self._on_disk
        self._look_at_chat(begin, end)

    def started(self) -> None:
        """A new process does not know since when something is on disk, and perhaps not that it was."""
        self._on_disk = dict.fromkeys(self._on_disk, (_LONG_AGO, _NOT_YET))
        self._opened = False

    def settled(self) -> None:
        """All that was saved must have been taken in."""
        settled = [one for one in self.possible if not one.unseen]
        assert settled, f"something that others wrote was not taken in: {self._explained(self.seen, died=False)}"
        self.possible, self.saves = settled, {}

    def _look(self) -> Observed:
        journal = self._writers.files.journal
        return Observed(reader.read_journal(journal) if journal.exists() else reader.replay(b""))

    def _check(self, seen: Observed) -> None:
        reader.once(seen.told, set())
        assert len(seen.texts) == len(seen.told.content), "one message is there under two ids"
        ours = {*self.answered}
        order = [name for one in seen.told.order if (name := name_of(seen.told.content[one])) in ours]
        assert order == self.answered, "what was acknowledged is not there, or in another order"

    def _known(self, begin: float, end: float) -> Known:
        """From what was seen before. Of what had been in chat on disk for over a second, some is sure."""
        seen = self.seen
        surely = frozenset(name for name, (_, shown) in self._on_disk.items() if begin - shown > model.SHOWN)
        maybe = frozenset(name for name, (absent, _) in self._on_disk.items() if end - absent > model.SHOWN)
        late = seen.here if end - begin > model.SHOWN else frozenset[str]()
        return Known(seen.moved, seen.stamps, surely, maybe | late, self.pinned)

    def _ways(self, start: Possible, op: Op, known: Known, seen: Observed, died: bool) -> Iterator[Possible]:
        """What is done, and what of the saves is taken in before or after it, in any order. Who died may not have
        done it."""
        for done in ([], [None]) if died else ([None],):
            for count in range(len(start.unseen) + 1):
                for some in itertools.combinations(start.unseen, count):
                    rest = tuple(one for one in start.unseen if one not in some)
                    judged = any(one.chat is not None and not one.legacy for one in some)
                    brought = frozenset[str]() if judged else start.brought
                    for order in itertools.permutations([*done, *some]):
                        ends = self._ends(start, order, op, known, seen)
                        yield from (Possible(state, rest, brought) for state in ends)

    def _ends(
        self, start: Possible, order: tuple[Written | None, ...], op: Op, known: Known, seen: Observed
    ) -> list[State]:
        states = [start.state]
        for each in order:
            if each is None:
                states = [after for one in states for after in op(one, seen)]
            else:
                took = replace(each, only_new=each.number in self._orphans, brought=start.brought)
                states = [after for one in states for after in took.taken_in(one, known, seen.here)]
        return states

    def _explained(self, seen: Observed, died: bool) -> str:
        was = [f"{one.state}, not taken in {one.unseen}" for one in self.possible]
        says = {"here": sorted(seen.here), "texts": seen.texts, "lists": seen.lists, "session": seen.told.session}
        return f"the journal says {says}; before it was one of {was}; it {'died' if died else 'lives'}"

    def _look_at_chat(self, begin: float, end: float) -> None:
        """Which messages are in chat on disk now, and since when our process may and must know of it: that a program
        wrote them there, and cleared them before we looked, nobody can tell."""
        chat = self._writers.read("chat")
        for name in map(name_of, chat.raw["messages"] if chat else []):
            absent, shown = self._on_disk.get(name, (begin, _NOT_YET))
            self._on_disk[name] = absent, min(shown, end) if self._opened else shown
        self._on_disk = {name: when for name, when in self._on_disk.items() if name in self.seen.here}

    # --- what others did --------------------------------------------------------------------------------------

    @property
    def may_save(self) -> bool:
        return len(self.saves) < MOST_UNSEEN and not self.is_composed

    @property
    def is_composed(self) -> bool:
        """One that has several documents is not written over in parts before it was seen."""
        return any(len(save.data) > 1 for save in self.saves.values())

    def saved(self, save: Saved) -> None:
        self.saves[save.written.number] = save
        self.possible = [replace(one, unseen=(*one.unseen, save.written)) for one in self.possible]

    def overwritten(self, path: Path, halfway: bool = False) -> None:
        """What somebody writes over before dagentd looked was never there. Or `halfway` it was: dagentd may have read
        it, and stands where it is about to say so."""
        lost = {number for number, save in self.saves.items() if path in save.data and save.is_there()}
        self._lose(lost, halfway)

    def overwritten_in(self, file: int) -> None:
        """The same in a file that is open, whatever its name is now."""
        there = os.pread(file, os.fstat(file).st_size, 0)
        self._lose({number for number, save in self.saves.items() if there in save.data.values()})

    def _lose(self, lost: set[int], halfway: bool = False) -> None:
        without = [replace(one, unseen=tuple(each for each in one.unseen if each.number not in lost))
                   for one in self.possible]  # fmt: skip
        self.possible = [*without, *(self.possible if halfway and lost else [])]
