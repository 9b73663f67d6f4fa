"""What must be in a session, by the rules of the journal alone: a state, and what each thing that is done makes of it.

Messages go by the first word of what they say. Nothing here reads a file or knows dagentd's code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

LISTS = ("completed", "inProgress", "pending", "blockers", "decisions")
Lists = tuple[frozenset[str], ...]  # what each list holds
NOTHING: Lists = (frozenset(),) * len(LISTS)
LAST = "Last asked: "  # of which there is one, as compaction without a model writes it
SHOWN = 1.0  # seconds in chat on disk after which a message can have been cleared by one who read it there


def name_of(message: Mapping[str, Any]) -> str:
    return str(message["content"]).split()[0]


def lists_of(checkpoint: Mapping[str, Any] | None) -> Lists:
    summary = (checkpoint or {}).get("summary") or {}
    return tuple(frozenset(map(str, summary.get(name) or [])) for name in LISTS)


@dataclass(frozen=True)
class Compaction:
    """One that can be undone: who left by it, and how it was before."""

    left: frozenset[str]
    lists: Lists
    clean: bool


@dataclass(frozen=True)
class State:
    here: frozenset[str] = frozenset()  # in chat
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # of all ever said, what they said in turn
    lists: Lists = NOTHING
    version: int = 1
    done: tuple[Compaction, ...] = ()
    clean: bool = True  # nobody edited the checkpoint since the last of these
    archived: bool = False
    fields: Mapping[str, Any] = field(default_factory=dict)  # of others, in the session and its checkpoint
    pinned: frozenset[str] = frozenset()

    @property
    def undoable(self) -> bool:
        return bool(self.done) and self.clean


# --- what we are asked to do --------------------------------------------------------------------------------------


def added(state: State, texts: Mapping[str, str]) -> State:
    said = {name: (text,) for name, text in texts.items() if name not in state.texts}
    return replace(state, here=state.here | said.keys(), texts={**state.texts, **said},
                   archived=state.archived and not said)  # fmt: skip


def cleared(state: State) -> State:
    """Of what can be undone, nothing is left."""
    return replace(state, here=frozenset(), done=())


def compacted(state: State, lists: Lists) -> State:
    """What it makes of the checkpoint is its own affair, but for what may not be lost: decisions stay, and what was in
    another list is in one of them."""
    left = state.here - state.pinned
    if not left:
        return state
    before = [one for held in state.lists for one in held if not one.startswith(LAST)]
    after = [one for held in lists for one in held]
    lost = state.lists[-1] - lists[-1] or [one for one in before if not _is_in(one, after)]
    one = Compaction(left, state.lists, state.clean)
    return replace(state, here=state.here - left, lists=lists if not lost else state.lists, version=state.version + 1,
                   done=(*state.done, one), clean=True)  # fmt: skip


def _is_in(item: str, after: list[str]) -> bool:
    """As it was, or with a word before it."""
    return any(one.endswith(item) for one in after)


def undone(state: State) -> State:
    last = state.done[-1]
    return replace(state, here=state.here | last.left, lists=last.lists, version=state.version + 1,
                   done=state.done[:-1], clean=last.clean)  # fmt: skip


def noted(state: State, lists: Lists) -> State:
    """The checkpoint is set by hand. One that says the same is no other one."""
    return replace(state, lists=lists, version=state.version + 1, clean=state.clean and lists == state.lists)


# --- what others wrote --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Base:
    """What the journal said where a document's position is."""

    pos: int
    texts: Mapping[str, str]
    lists: Lists
    fields: Mapping[str, Any]


@dataclass(frozen=True)
class Known:
    """What is known of the journal and the chat on disk beside the state."""

    moved: Mapping[str, int]  # where in the journal a message last arrived, left or returned
    stamps: Mapping[str, str]  # when each was said
    surely: frozenset[str]  # had been in chat on disk for over a second
    maybe: frozenset[str]  # may have been
    kept: frozenset[str]  # items that are pinned


@dataclass(frozen=True)
class Written:
    """One save of another program: the documents that it wrote, and on which base."""

    number: int
    chat: Mapping[str, str] | None = None  # what it says, in order
    checkpoint: Lists | None = None
    version: int = 0
    fields: Mapping[str, Any] = field(default_factory=dict)
    base: Base | None = None
    remade: bool = False  # the session's creation is another one
    newest: str = ""  # its own compaction took what was said up to then
    read: Lists = NOTHING  # the checkpoint that its writer had read, if it says nothing of a base
    only_new: bool = False  # it lay in a file that lost its name when we died: what it removed may come back
    legacy: bool = False  # a file of an older format
    brought: frozenset[str] = frozenset()  # in chat since somebody glanced at what others wrote, and did not judge it

    def glanced_at(self, state: State) -> State:
        """What is new arrives, and nothing else is judged."""
        return state if self.chat is None else replace(self, base=None)._arrivals(state)

    def taken_in(self, state: State, known: Known, seen: frozenset[str]) -> Iterator[State]:
        """The states that this may lead to; `seen` is who is in chat afterwards."""
        for merged in self._checkpoints(self._fields(state), known.kept):
            if self.chat is None:
                yield merged
            else:
                yield from self._chats(self._arrivals(merged), state, known, seen)

    def _checkpoints(self, state: State, kept: frozenset[str]) -> Iterator[State]:
        if self.checkpoint is None or self._is_remade(state) or self.only_new:
            yield state
        if self.checkpoint is not None and (self.only_new or self.base is None):  # what it lacks is not known
            yield self._checkpoint(state, frozenset(one for held in state.lists for one in held))
        if self.checkpoint is not None and not self._is_remade(state):
            yield self._checkpoint(state, kept)

    def _chats(self, arrived: State, before: State, known: Known, seen: frozenset[str]) -> Iterator[State]:
        """`arrived` has what is new in it already."""
        if self.only_new:
            yield arrived
        if self.base is not None:
            yield self._three_ways(arrived, before, known)
        elif not self._is_anew(before) or self._is_remade(before) or self.legacy:
            yield arrived
        elif self.newest and self.version > before.version and arrived.lists != before.lists:
            left = frozenset(one for one in before.here - self._names if self._was_before(one, known, seen))
            yield self._left_by_compaction(arrived, before, left) if left else arrived
        else:
            left = (before.here - self._names) & (known.surely | (known.maybe - seen))
            yield replace(arrived, here=arrived.here - left, done=() if left else arrived.done)

    def _is_anew(self, state: State) -> bool:
        """Built without any message that is in chat, but for those that it brought itself."""
        return self.chat is not None and self.base is None and not self._names & (state.here - self.brought)

    @property
    def _names(self) -> frozenset[str]:
        return frozenset(self.chat or ())

    def _is_remade(self, state: State) -> bool:
        """By an app that took the session for missing."""
        fell = self.checkpoint is not None and self.base is None and self.version < state.version
        return self._is_anew(state) and (self.remade or fell) and not self.legacy

    def _was_before(self, name: str, known: Known, seen: frozenset[str]) -> bool:
        return known.stamps[name] <= self.newest if name in known.stamps else name not in seen

    def _arrivals(self, state: State) -> State:
        assert self.chat is not None
        new = {name: (text,) for name, text in self.chat.items() if name not in state.texts}
        texts = {**state.texts, **new}
        for name, text in self.chat.items():
            if name in state.texts and text != texts[name][-1] and self._is_edit(name, text, texts[name]):
                texts[name] = (*texts[name], text)
        return replace(state, here=state.here | new.keys(), texts=texts)

    def _is_edit(self, name: str, text: str, versions: tuple[str, ...]) -> bool:
        """What was said before and is said again is an old copy, unless its writer had seen the later one."""
        return text not in versions or (self.base is not None and self.base.texts.get(name) != text)

    def _three_ways(self, arrived: State, before: State, known: Known) -> State:
        assert self.chat is not None and self.base is not None
        pos, here, chat = self.base.pos, before.here, self.chat

        def stands(name: str) -> bool:
            return known.moved.get(name, 1 << 60) > pos

        back = {name for name in chat if name in before.texts and name not in here and not stands(name)}
        gone = {name for name in here if name not in chat and not stands(name)}
        return replace(arrived, here=(arrived.here | back) - gone)

    def _left_by_compaction(self, arrived: State, before: State, left: frozenset[str]) -> State:
        one = Compaction(left, before.lists, before.clean)
        return replace(arrived, here=arrived.here - left, done=(*before.done, one), clean=True)

    def _checkpoint(self, state: State, kept: frozenset[str]) -> State:
        """New strings are added, vanished ones resolved; decisions, pinned ones and what was added since stay."""
        assert self.checkpoint is not None
        base = self.base.lists if self.base else self.read
        merged = []
        for name, theirs, ours, known in zip(LISTS, self.checkpoint, state.lists, base, strict=True):
            fixed = ours if name == "decisions" else kept
            stay = frozenset(one for one in ours if one in fixed or one in theirs or one not in known)
            merged.append(stay | (theirs - known))
        lists = tuple(merged)
        if lists == state.lists:
            return state
        return replace(state, lists=lists, version=max(self.version, state.version + 1), clean=False)

    def _fields(self, state: State) -> State:
        """A field that another program made lives; one that it changed counts if nobody else changed it since."""
        base = self.base.fields if self.base else {}
        new = {
            key: value
            for key, value in self.fields.items()
            if key not in state.fields or (value != base.get(key) and base.get(key) == state.fields[key])
        }
        return replace(state, fields={**state.fields, **new})
