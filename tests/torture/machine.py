"""The state machine: our API, programs that write the same files, jobs, crashes and jumps of the clock, in any order.
After each of them the journal must be one that the model allows, and in the end the documents and our answers too."""

from __future__ import annotations

import itertools
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, ClassVar

from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.conftest import git
from tests.jobs.legacy_files import at, write
from tests.store.place import Place
from tests.torture import model, reader
from tests.torture.explorer import copy as copy_tree
from tests.torture.explorer import fast_place
from tests.torture.explorer_power import How
from tests.torture.explorer_wire import Lane
from tests.torture.machine_belief import Belief, Observed, Op, nothing
from tests.torture.machine_daemon import WORST, Daemon, Reply
from tests.torture.machine_writers import DAMAGE, EDITS, THEIRS, Copy, Saved, Style, Writers, without
from tests.torture.model import LISTS, State, Written


class Fate:
    """What befalls the daemon during one order: death at a durable step, or somebody who writes at one."""

    def __init__(self, crash: int = 0, pause: int = 0) -> None:
        self.crash, self.pause = crash, pause

    def __repr__(self) -> str:
        return f"Fate({self.crash}, {self.pause})"


early = st.integers(1, 6) | st.integers(1, 30)  # adding takes two durable steps, writing all documents takes many
fates = st.one_of(st.builds(Fate), st.builds(Fate, crash=early), st.builds(Fate, pause=early | st.just(WORST)))
seconds = st.sampled_from([0.0, 0.05, 0.2, 1.5, 5.0])
jumps = st.sampled_from([-86400.0 * 400, -3600.0, -2.0, 2.0, 3600.0, 86400.0 * 400])
numbers = st.integers(0, 9)
styles = st.sampled_from(["truncate", "rename", "editor"])
documents = st.sampled_from(["chat", "chat", "checkpoint", "session"])
hows = st.sampled_from(["kill", "power"])


class Machine(RuleBasedStateMachine):
    lane: ClassVar[Lane]
    template: ClassVar[Path | None] = None
    examples: ClassVar[int] = 0
    steps: ClassVar[int] = 0
    deaths: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__()
        Machine.examples += 1
        self.folder = Path(mkdtemp(dir=fast_place()))
        self.place = Place(self.folder / "p")
        self._prepare()
        self.daemon = Daemon(self.lane, self.place.root)
        self.writers = Writers(self.place.pm)
        self.how: How = "kill"
        self.belief = Belief(self.writers)
        self.paused = self.settled = False
        self.copies: list[Copy] = []
        self.open_files: list[tuple[int, Copy]] = []
        self.legacy: list[str] = []
        self.extras: set[str] | None = set()  # what may be in a field of others in chat; None: anything
        self.names = (f"n{number}" for number in itertools.count())

    def _prepare(self) -> None:
        if Machine.template is None or not Machine.template.exists():
            Machine.template = Path(mkdtemp(dir=fast_place())) / "template"
            place = Place(self.folder / "p")
            place.root.mkdir()
            git(place.root, "init", "-q", "--template=", ".")
            git(place.root, "commit", "-q", "--allow-empty", "-m", "Start")
            place.make()
            place.root.rename(Machine.template)
        copy_tree(Machine.template, self.place.root)

    @initialize(how=hows, crash=early | st.just(0))
    def begin(self, how: How, crash: int) -> None:
        self.how = how
        self._do("create", None, nothing, Fate(crash))
        self._do("create", None, nothing)
        self.add(3, Fate(), again=False)  # something to lose
        self.wait(2.0, Fate())

    # --- our API ----------------------------------------------------------------------------------------------

    @rule(count=st.integers(1, 3), fate=fates, again=st.booleans())
    def add(self, count: int, fate: Fate, again: bool) -> None:
        """Sometimes twice: it is stored once."""
        names = [next(self.names) for _ in range(count)]
        said = {name: f"{name} must never call the network, please add tests" for name in names}
        messages = [{"id": name, "role": "user", "content": text} for name, text in said.items()]
        reply = self._do("add", messages, lambda state, _: iter([model.added(state, said)]), fate)
        if not reply.died and again:
            reply = self._do("add", messages, lambda state, _: iter([model.added(state, said)]))
        if not reply.died:
            assert reply.result == names
        seen = self.belief.seen.texts
        assert len({name in seen for name in names}) == 1, "a part of a group was stored"
        self.belief.answered += [name for name in names if name in seen]

    @rule(fate=fates)
    def clear(self, fate: Fate) -> None:
        self._do("clear", None, lambda state, _: iter([model.cleared(state)]), fate)

    @rule(fate=fates)
    def compact(self, fate: Fate) -> None:
        def op(state: State, seen: Observed) -> Iterator[State]:
            yield model.compacted(state, seen.lists)

        self._do("compact", None, op, fate)

    @rule(fate=fates)
    def undo(self, fate: Fate) -> None:
        conflict: list[bool] = []

        def op(state: State, _: Observed) -> Iterator[State]:
            if conflict and conflict[0] != (not state.undoable):
                return
            yield model.undone(state) if state.undoable else state

        def refused(reply: Reply) -> None:
            conflict.append(reply.error.startswith("Conflict"))
            assert not reply.error or conflict[0], reply

        self._do("undo", None, op, fate, allowed=refused)

    @rule(fate=fates)
    def archive(self, fate: Fate) -> None:
        self._do("archive", None, lambda state, _: iter([replace(state, archived=True)]), fate)

    @rule(fate=fates)
    def get_or_create(self, fate: Fate) -> None:
        self._do("create", None, lambda state, _: iter([replace(state, archived=False)]), fate)

    @rule(number=numbers, keep=st.booleans(), fate=fates)
    def note_down(self, number: int, keep: bool, fate: Fate) -> None:
        """Set the checkpoint by hand: one more, or without one of them, or just the same."""
        lists = self.belief.seen.in_order  # to say the same in another order is to edit it
        chosen = lists[number % 5]
        if keep and number % 2:
            chosen.append(f"{next(self.names)} by hand")
        elif not keep and chosen:
            chosen.pop()
        after = tuple(map(frozenset, lists))
        summary = dict(zip(LISTS, lists, strict=True))
        self._do("checkpoint", summary, lambda state, _: iter([model.noted(state, after)]), fate)

    @precondition(lambda self: self.belief.answered)
    @rule(number=numbers, fate=fates)
    def pin(self, number: int, fate: Fate) -> None:
        name = self.belief.answered[-1 - number % len(self.belief.answered)]
        self._do("pin", name, lambda state, _: iter([replace(state, pinned=state.pinned | {name})]), fate)

    @rule(number=numbers, fate=fates)
    def pin_item(self, number: int, fate: Fate) -> None:
        self._do("pin item", number, nothing, fate)

    # --- jobs and time ----------------------------------------------------------------------------------------

    @rule(what=st.sampled_from(["look", "glance", "reconcile", "due"]), fate=fates)
    def job(self, what: str, fate: Fate) -> None:
        self._do(what, None, nothing, fate)

    @rule(passed=seconds, fate=fates)
    def wait(self, passed: float, fate: Fate) -> None:
        """Documents are written when they are due."""
        self._do("wait", passed, nothing, fate)

    @rule(by=jumps)
    def clock_jumps(self, by: float) -> None:
        self._do("jump", by, nothing)

    @rule(how=hows, crash=early | st.just(0))
    def restart(self, how: How, crash: int) -> None:
        """In good order; and perhaps it dies while it starts."""
        if self.daemon.alive:
            begin = self.daemon.since
            self.daemon.stop()
            self._observe(nothing, begin)
        self.how = how
        self._start(crash)

    # --- other programs ---------------------------------------------------------------------------------------

    @rule(name=documents)
    def somebody_reads(self, name: str) -> None:
        """And keeps the copy."""
        if (found := self.writers.read(name)) is not None:
            self.copies = [*self.copies[-3:], found]

    @rule(name=documents, data=st.data(), style=styles, number=numbers)
    def somebody_edits(self, name: str, data: st.DataObject, style: Style, number: int) -> None:
        """Reads, edits and writes back at once."""
        if (found := self.writers.read(name)) is not None:
            edit = data.draw(st.sampled_from(sorted(EDITS[name])))
            self._save(self._edited(found, edit, number), style, found)

    @rule(edit=st.sampled_from(["push", "take away", "change"]), style=styles, number=numbers)
    def the_app_goes_on(self, edit: str, style: Style, number: int) -> None:
        """What it does most."""
        if (found := self.writers.read("chat")) is not None:
            self._save(self._edited(found, edit, number), style)

    @rule(number=numbers, clears=st.booleans(), fate=fates)
    def the_app_goes_on_and_we_glance(self, number: int, clears: bool, fate: Fate) -> None:
        """At what it has just said, perhaps after a clear."""
        if clears:
            self.the_app_clears(number, 0.0)
        self.the_app_goes_on("push", "truncate", number)
        self.job("glance", fate)

    @precondition(lambda self: self.copies)
    @rule(data=st.data(), style=styles, number=numbers, position=st.booleans())
    def somebody_saves_a_copy(self, data: st.DataObject, style: Style, number: int, position: bool) -> None:
        """That may be old by now; some lose the position with the fields they do not know."""
        found = self.copies[number % len(self.copies)]
        edit = data.draw(st.sampled_from(sorted(EDITS[found.name])))
        edited = self._edited(found, edit, number)
        if not position and found.name == "chat":
            edited = Copy("chat", {key: value for key, value in edited.raw.items() if key != "dagentd"})
        self._save(edited, style, found)

    @rule(style=styles, number=numbers)
    def somebody_puts_back(self, style: Style, number: int) -> None:
        """A message that had left, as it was last."""
        told, found = self.belief.seen.told, self.writers.read("chat")
        if found is None:
            return
        held = {model.name_of(one) for one in found.raw["messages"]}
        if gone := [one for one in told.order if model.name_of(told.content[one]) not in held]:
            back = told.content[gone[number % len(gone)]]
            self._save(Copy("chat", found.raw | {"messages": [*found.raw["messages"], back]}), style, found)

    @rule(style=styles, number=numbers, pinned=st.booleans())
    def somebody_strikes_what_stays(self, style: Style, number: int, pinned: bool) -> None:
        """All decisions, or all that is pinned, from the checkpoint as it is on disk."""
        self.compact(Fate())
        if pinned:
            self.pin_item(number, Fate())
        self.wait(2.0, Fate())
        if (found := self.writers.read("checkpoint")) is not None:
            struck = self.belief.pinned if pinned else set((found.raw.get("summary") or {}).get("decisions") or [])
            self._save(without(found, struck), style, found)

    @rule(style=styles, number=numbers)
    def two_programs_go_on(self, style: Style, number: int) -> None:
        """One changes a message, the other adds to the copy that it read before."""
        found = self.writers.read("chat")
        self.the_app_goes_on("change", "truncate", number)
        self.wait(0.2, Fate())
        if found is not None:
            self._save(self._edited(found, "push", number), style, found)

    @rule(number=numbers, after=st.sampled_from([0.0, 2.0]))
    def the_app_clears(self, number: int, after: float) -> None:
        """It builds a new object; now and then something was said in it already."""
        self.wait(after, Fate())
        messages = [] if number % 3 else [_said(next(self.names))]
        self._save(Copy("chat", {"messages": messages, "totalMessages": len(messages)}), "truncate")

    @rule(number=numbers)
    def the_app_compacts(self, number: int) -> None:
        chat, checkpoint = self.writers.read("chat"), self.writers.read("checkpoint")
        if chat is None or checkpoint is None or not chat.raw["messages"]:
            return
        newest = chat.raw["messages"][number % len(chat.raw["messages"])]["timestamp"]
        lists: dict[str, list[str]] = {name: [] for name in LISTS}
        summary = lists | {"completed": [f"{next(self.names)} done by the app"]}
        info = {"messagesCompacted": 1, "oldestMessageTimestamp": newest, "newestMessageTimestamp": newest}
        made = {"version": checkpoint.raw["version"] + 1, "summary": summary, "compactionInfo": info}
        copies = [Copy("checkpoint", made), Copy("chat", {"messages": []})]
        self._save_all(copies, newest=newest, read=model.lists_of(checkpoint.raw))

    @rule(number=numbers, crash=early)
    def the_app_compacts_and_we_die(self, number: int, crash: int) -> None:
        """Over what it wrote, which had been there for long."""
        self.wait(2.0, Fate())
        self.the_app_compacts(number)
        self.job("due", Fate(crash))

    @rule()
    def the_app_makes_it_anew(self) -> None:
        session = self.writers.read("session")
        if session is None:
            return
        kept = {key: session.raw[key] for key in ("id", "type", "agentType", "featureId")}
        made = "2031-01-01T00:00:00.000Z"
        summary = {"version": 1, "summary": {name: [] for name in LISTS}}
        anew = kept | {"createdAt": made, "updatedAt": made, "status": "active", "stats": {}}
        copies = [Copy("session", anew), Copy("chat", {"messages": []}), Copy("checkpoint", summary)]
        self._save_all(copies, remade=True)

    @rule(name=documents, how=st.sampled_from(sorted(DAMAGE)))
    def somebody_damages(self, name: str, how: str) -> None:
        path = self.writers.paths[name]
        if self.belief.is_composed:
            return
        self.belief.overwritten(path)
        self.settled = False
        self.writers.damage(name, how)
        if name == "chat":
            self.extras = None

    @rule()
    def somebody_opens(self) -> None:
        """To write into it later, whatever became of its name."""
        if (found := self.writers.read("chat")) is not None:
            self.open_files.append((os.open(self.place.pm.chat, os.O_RDWR), found))

    @precondition(lambda self: self.open_files)
    @rule(number=numbers)
    def somebody_writes_into_it(self, number: int) -> None:
        file, found = self.open_files.pop(number % len(self.open_files))
        edited = self._edited(found, "push", number)
        if os.fstat(file).st_nlink and not self._is_aside(file) and self.belief.may_save:
            self._note_extras(edited)
            self.belief.overwritten_in(file)
            self.belief.saved(self.writers.save_into(file, edited))
        os.close(file)

    @rule()
    def somebody_writes_late_and_we_die(self) -> None:
        """Into a file that has just lost its name to ours."""
        self.somebody_opens()
        self.add(1, Fate(), again=False)
        self.wait(0.1, Fate())
        if self.open_files:
            self.somebody_writes_into_it(-1)
        begin = self.daemon.since
        self.daemon.kill()
        self._observe(nothing, begin, died=True)

    def _is_aside(self, file: int) -> bool:
        """It made no sense when we looked, and has a name of its own since: who writes into it then writes there."""
        chat, written = self.place.pm.chat, os.fstat(file)
        if chat.exists() and os.path.samestat(written, chat.stat()):  # we died before another took its place
            return False
        return any(os.path.samestat(written, path.stat()) for path in self.place.pm.beside(chat, "corrupt"))

    @rule(count=st.integers(1, 2))
    def an_older_app_says(self, count: int) -> None:
        """In a file of an older format, which grows."""
        if not self.belief.may_save:
            return
        self.legacy += [next(self.names) for _ in range(count)]
        said = {name: f"{name} in an older app?" for name in self.legacy}
        entries = [{"type": "user", "text": text, "timestamp": at(number % 60)}
                   for number, text in enumerate(said.values())]  # fmt: skip
        path = self.place.flat / "chat.json"
        self.belief.overwritten(path)
        write(path, {"entries": entries})
        self.belief.saved(Saved(Written(1000 + len(self.legacy), chat=said, legacy=True), {path: path.read_bytes()}))

    # --- promises ---------------------------------------------------------------------------------------------

    @precondition(lambda self: not self.settled)
    @rule()
    def settle(self) -> None:
        """Everything is taken in and written, and all agree."""
        if not self.daemon.alive:
            self._start()
        for what, given in (("wait", 6.0), ("due", None), ("wait", 6.0), ("reconcile", None), ("wait", 6.0)):
            self._do(what, given, nothing)
        self.belief.settled()
        self._check_agreement()
        self.settled = True

    def teardown(self) -> None:
        try:
            if sys.exc_info()[0] is None:  # or it has failed already
                self.settle()
                self.daemon.stop()
        finally:
            for file, _ in self.open_files:
                os.close(file)
            if self.daemon.alive:
                self.daemon.kill()
            Machine.deaths += self.daemon.deaths
            shutil.rmtree(self.folder, ignore_errors=True)

    def _check_agreement(self) -> None:
        told = reader.agree(self.place.pm)
        reply = self.daemon.do("told")
        assert [one["id"] for one in reply.result["chat"]] == told.chat
        assert [one["id"] for one in reply.result["history"]] == told.order
        assert all(one == told.content[one["id"]] for one in reply.result["history"])
        assert reader.temps(self.folder) == []
        chat = reader.whole(self.place.pm.chat)
        assert self.extras is None or not self.extras or chat.get(f"{THEIRS}0") in self.extras, chat.keys()
        assert self.place.pm.journal.stat().st_nlink == 2
        if self.legacy:
            entries = reader.whole(self.place.flat / "chat.json")["entries"]
            assert [one["text"].split()[0] for one in entries] == self.legacy, "an original was altered"

    # --- doing and looking ------------------------------------------------------------------------------------

    def _start(self, crash: int = 0) -> None:
        begin = self.daemon.since
        reply = self.daemon.start(crash, self.how)
        self.belief.started()
        assert not reply.error, reply
        self._observe(nothing, begin, reply.died)

    def _do(
        self, what: str, given: Any, op: Op, fate: Fate | None = None, allowed: Callable[[Reply], None] | None = None
    ) -> Reply:
        Machine.steps += 1
        if not self.daemon.alive:
            self._start()
        fate, begin = fate or Fate(), self.daemon.since
        reply = self.daemon.do(what, given, fate.crash, fate.pause, self._meanwhile)
        if allowed:
            allowed(reply)
        else:
            assert not reply.error, reply
        if reply.died:
            note(f"it died of {what}")
        self._observe(op, begin, reply.died, opened=what not in ("wait", "jump"), glanced=what == "glance")
        return reply

    def _observe(self, op: Op, begin: float, died: bool = False, **how: bool) -> None:
        self.settled = False
        self.belief.observe(op, begin, self.daemon.since, died, **how)

    def _meanwhile(self) -> None:
        """At the worst instant, the app adds to what it has just read."""
        self.paused = True
        if (found := self.writers.read("chat")) is not None:
            self._save(self._edited(found, "push", 0), "truncate")
        self.paused = False

    # --- saving -----------------------------------------------------------------------------------------------

    def _edited(self, found: Copy, edit: str, number: int) -> Copy:
        raw = deepcopy(found.raw)
        EDITS[found.name][edit](raw, next(self.names), number)
        return Copy(found.name, raw)

    def _save(self, copy: Copy, style: Style, found: Copy | None = None) -> None:
        """`found` is what its writer had read. Of a chat without a position the same bytes once more may be another
        clear, or none: nobody saves that here."""
        if self.writers.has(copy):
            if copy.name != "chat" or "dagentd" in copy.raw:
                self.writers.save([copy], style)
        elif self.belief.may_save:
            self._note_extras(copy)
            self.belief.overwritten(self.writers.paths[copy.name], self.paused)
            read = model.lists_of(found.raw if found else None)
            self.belief.saved(self.writers.save([copy], style, read=read))

    def _save_all(self, copies: list[Copy], **more: Any) -> None:
        if not self.belief.saves:
            for copy in copies:
                self._note_extras(copy)
            self.belief.saved(self.writers.save(copies, "truncate", **more))

    def _note_extras(self, copy: Copy) -> None:
        if copy.name == "chat":
            held = copy.raw.get(f"{THEIRS}0")
            if held is None and self.extras:
                self.extras = None
            elif held is not None and self.extras is not None:
                self.extras.add(held)


def _said(name: str) -> dict[str, Any]:
    return {"id": name, "role": "user", "content": f"{name} anew?", "timestamp": "2026-01-17T12:00:00.000Z"}
