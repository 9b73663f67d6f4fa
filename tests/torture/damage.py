"""Damage to a journal in every way that backups, editors and disks do it, at any moment: while the daemon runs, stands
still or is dead. What anything still has is back afterwards, in its order; what nothing has is listed as lost."""

from __future__ import annotations

import json
import os
import random
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.store.place import Place
from tests.torture import reader
from tests.torture.explorer_wire import Lane
from tests.torture.machine_daemon import Daemon, Reply

_SAVED = 1.5  # seconds after which all that was answered is known to the index
_LOOKS = ("reconcile", "look", "add", "wait", "told", "none")


class Damage:
    """One session's life: `said` in the order of the answers, of which some `left` chat."""

    def __init__(self, lane: Lane, root: Path, seed: int) -> None:
        self.dice, self.place = random.Random(seed), Place(root).make()
        self.journal = self.place.pm.journal
        self.daemon = Daemon(lane, root)
        self.said: list[str] = []
        self.left: set[str] = set()
        self.unsaved: set[str] = set()  # answered a moment ago: if the daemon is killed now, no list has them
        self.unlisted: set[str] = set()
        self.strayed: set[str] = set()  # nobody may know their places: lost once, or unsaved when it was killed
        self.moved = self.vague = False  # killed before the index knew who left: they may be in chat again
        self.held: set[str] = set()  # what any file has, after the last damage
        self.absent: set[str] = set()  # what none of them has: it may be in one that was being replaced when we died
        self.gone: set[str] = set()  # what was lost
        self.opened = False  # whether the daemon has read it since it was started
        self.backups: list[Path] = []
        self.steps: list[str] = []
        self._names = 0

    def run(self, steps: int) -> None:
        self.daemon.start()
        self._do("create")
        for _ in range(steps):
            step = self.dice.choices(list(STEPS), list(STEPS.values()))[0]
            getattr(self, f"_{step}")()
        self._restart()
        self._judge()
        self.daemon.stop()

    # --- what happens to a session ----------------------------------------------------------------------------

    def _do(self, what: str, given: Any = None, **fate: Any) -> Reply:
        self.steps.append(f"{what} {given if what != 'add' else [one['id'] for one in given]} {list(fate)}")
        reply = self.daemon.do(what, given, **fate)
        self.opened |= what != "wait"
        assert not reply.error, reply
        return reply

    def _new(self) -> list[dict[str, str]]:
        names = [f"n{self._names + i}" for i in range(self.dice.randint(1, 3))]
        self._names += len(names)
        size = self.dice.choice([1, 1, 1, 40, 400, 9000])
        return [{"id": name, "role": "user", "content": _text(name) * size} for name in names]

    def _add(self, **fate: Any) -> None:
        messages = self._new()
        self._do("add", messages, **fate)
        self.said += [each["id"] for each in messages]
        self.unsaved |= {each["id"] for each in messages}

    def _wait(self) -> None:
        seconds = self.dice.choice([0.05, 0.2, _SAVED, 5.0])
        self._do("wait", seconds)
        if seconds >= _SAVED:
            self.unsaved, self.moved = set(), False

    def _clear(self) -> None:
        self._do("clear")
        self.left |= set(self.said)
        self.moved = True

    def _checkpoint(self) -> None:
        self._do("checkpoint", {"decisions": [f"after {self._names}"]})

    def _app(self) -> None:
        """It adds to the chat that it finds, and is taken in."""
        (message,) = self._new()[:1]
        chat = reader.whole(self.place.pm.chat)
        chat["messages"].append(message | {"timestamp": "2026-01-01"})
        self.place.pm.chat.write_text(json.dumps(chat))
        self.steps.append(f"app {message['id']}")
        self._do("look")
        self.said.append(message["id"])
        self.unsaved.add(message["id"])

    def _restart(self) -> None:
        self._stop(self.dice.choice([True, False]))
        self._start()

    def _stop(self, well: bool) -> None:
        self.steps.append("stop" if well else "kill")
        self.opened = False
        if well:
            self.daemon.stop()
            self.unsaved, self.moved = set(), False
        else:
            self.daemon.kill()
            self.unlisted |= self.unsaved
            self.strayed |= self.unsaved
            self.vague |= self.moved

    def _start(self) -> None:
        self.steps.append("start")
        assert not self.daemon.start().died

    def _back_up(self) -> None:
        target = self.place.root / f"backup-{len(self.backups)}"
        shutil.copytree(self.journal.parent, target, ignore=shutil.ignore_patterns(".*", "*.lost.*"))
        self.backups.append(target)
        self.steps.append(f"back up {target.name}")

    # --- damage -----------------------------------------------------------------------------------------------

    def _damage(self) -> None:
        """While it runs, perhaps in the middle of something; or while it is stopped or dead."""
        moment = self.dice.choice(["still", "midst", "stopped", "killed"])
        memory = {*self.said} - self.left - self.gone if moment in ("still", "midst") and self.opened else set()
        if moment == "midst":
            before = {*self.said}
            self._add(pause=self.dice.randint(1, 4), meanwhile=self._hurt_in_the_midst)
            memory |= {*self.said} - before
        elif moment == "still":
            self._hurt()
            self._notice()
        else:
            self._stop(moment == "stopped")
            self._hurt()
            self._start()
        if self.dice.random() < 0.2:  # before anybody looked
            self._restart()
            memory = set() if "kill" in self.steps[-2:] else memory
        self._judge(memory)

    def _hurt_in_the_midst(self) -> None:
        """Not between a look at the journal and the write that it is for, some microseconds: whoever fills it with
        as many bytes of something else just then is noticed by who reads them."""
        if self.daemon.paused != f"write {self.journal}":
            self._hurt()

    def _notice(self) -> None:
        look = self.dice.choice(_LOOKS)
        if look == "add":
            self._add()
        elif look != "none":
            self._do(look, 0.3 if look == "wait" else None)

    def _hurt(self) -> None:
        for _ in range(self.dice.choice([1, 1, 2])):
            name = self.dice.choice(list(WAYS))
            self.steps.append(f"damage: {name}")
            WAYS[name](self)
        journals = _in_journals(self.place)
        self.held = journals | _in_chat(self.place)
        if not list(self.place.root.glob("index.sqlite*")):  # which knows where those stand that only chat has
            self.strayed |= self.held - journals
        else:  # and that a group at the end of a journal was answered, of which not all is whole
            self.held |= _in_ends(self.place) & {*self.said} - self.unlisted - self.unsaved
        self.absent = {*self.said} - self.held

    def backup(self) -> Path | None:
        return self.dice.choice(self.backups) if self.backups else None

    def part(self) -> tuple[int, int]:
        """Some bytes of the journal."""
        size = self.journal.stat().st_size if self.journal.exists() else 0
        start = self.dice.randrange(max(size, 1))
        return start, min(size - start, self.dice.choice([1, 30, 300, 5000]))

    # --- what must hold ---------------------------------------------------------------------------------------

    def _judge(self, memory: set[str] | None = None) -> None:
        self._do("reconcile")
        told = self._do("told").result
        made_up = {raw["id"] for raw in told["history"]} - {*self.said}  # by an id that goes on as another text
        assert not made_up or "damage: spliced" in self.steps, f"never said: {made_up}"
        history, chat = ([raw["id"] for raw in told[name] if raw["id"] not in made_up] for name in ("history", "chat"))
        assert len(history) == len({*history}), "doubled"
        gone = self.gone = {*self.said} - {*history}
        other = {raw["id"] for raw in told["history"] if not _is_right(raw)} - self.unlisted - made_up
        assert not other & (self.held | (memory or set())), f"others' words: {other}"
        held = (self.held | (memory or set())) & gone
        assert not held, f"lost, though something had them: {held}"
        listed = _listed(self.journal)
        assert gone <= listed | self.unlisted, f"lost and not listed: {gone - listed - self.unlisted}"
        assert other <= listed, f"others' words and not listed: {other - listed}"
        self.strayed |= gone | (self.absent - (memory or set()))
        known = [one for one in self.said if one in history and one not in self.strayed]
        assert [one for one in history if one not in self.strayed] == known, f"order: {history}"
        if not self.vague:
            away = self.left | self.strayed
            assert {*chat} - away == {*known} - self.left, f"in chat: {chat}"
        self.left, self.vague = {*history} - {*chat}, False


STEPS = {
    "add": 8, "wait": 4, "clear": 1, "checkpoint": 1, "app": 2, "restart": 1, "back_up": 2, "damage": 5
}  # fmt: skip


def _text(name: str) -> str:
    return f"text of {name}, "


def _is_right(raw: Any) -> bool:
    """Whether it says what was said. Of a line that was made of two, any part may be missing."""
    whole = isinstance(raw, dict) and isinstance(raw.get("id"), str)
    return whole and set(str(raw.get("content")).split(_text(raw["id"]))) == {""}


def _in_journals(place: Place) -> set[str]:
    """The messages that some file has whole, with all that were added with them."""
    files = _files(place)
    for entry in place.kept.glob("*.jsonl"):
        parts = sorted(
            place.kept.glob(f"{entry.stem}.*.z"), key=lambda path: int(path.stem.split(".")[-1].split("-")[0])
        )
        files.append(b"".join(zlib.decompress(path.read_bytes()) for path in parts))
    held = [record for data in files for record, _, _ in reader.records(data)[0] if record.get("t") == "message"]
    return {record["message"]["id"] for record in held if _is_right(record.get("message"))}


def _in_ends(place: Place) -> set[str]:
    """Those that are whole where others that were added with them are not."""
    lines = b"\n".join(reader.records(data)[2] for data in _files(place)).split(b"\n")
    held = [reader.records(line.replace(b', "more": true', b"") + b"\n")[0] for line in lines]
    found = [one[0][0].get("message") for one in held if one and one[0][0].get("t") == "message"]
    return {raw["id"] for raw in found if isinstance(raw, dict) and "id" in raw}


def _files(place: Place) -> list[bytes]:
    return [path.read_bytes() for path in [*place.kept.glob("*.jsonl"), place.pm.journal] if path.exists()]


def _in_chat(place: Place) -> set[str]:
    try:
        return {raw["id"] for raw in json.loads(place.pm.chat.read_bytes())["messages"]}
    except (FileNotFoundError, ValueError):
        return set()


def _listed(journal: Path) -> set[str]:
    path = journal.with_name(f"{journal.name}.lost.1")
    return {json.loads(line)["id"] for line in path.read_bytes().splitlines()} if path.exists() else set()


# --- the ways of it -----------------------------------------------------------------------------------------------


def _over(source: Path, target: Path) -> None:
    """The same file afterwards, as `cp` and `rsync --inplace` leave it."""
    with target.open("wb") as file:
        file.write(source.read_bytes())


def _instead(source: Path, target: Path) -> None:
    """Another file afterwards, as `rsync` and `git checkout` leave it."""
    temp = target.with_name(f"{target.name}.restored")
    shutil.copyfile(source, temp)
    temp.replace(target)


def _restored(put: Callable[[Path, Path], None], *, all_of_it: bool) -> Callable[[Damage], None]:
    def damage(life: Damage) -> None:
        backup = life.backup()
        for path in sorted(backup.iterdir()) if backup else []:
            if all_of_it or path.name == life.journal.name:
                put(path, life.journal.parent / path.name)

    return damage


def _truncated(life: Damage) -> None:
    if life.journal.exists():
        os.truncate(life.journal, life.part()[0])


def _emptied(life: Damage) -> None:
    if life.journal.exists():
        life.journal.write_bytes(b"")


def _filled(fill: bytes) -> Callable[[Damage], None]:
    def damage(life: Damage) -> None:
        start, size = life.part()
        if size:
            with life.journal.open("r+b") as file:
                file.seek(start)
                file.write(fill * size)

    return damage


def _spliced(life: Damage) -> None:
    """Where a copy was written over it piece by piece: some line begins as one and goes on as another. Not with a kind
    of record that nobody knows: a newer version may have written that, and nothing is added behind it."""
    if life.journal.exists():
        start, size = life.part()
        data = life.journal.read_bytes()
        left = data[:start] + data[start + size :]
        before, after = ({record.get("t") for record, _, _ in reader.records(each)[0]} for each in (data, left))
        if after <= before | {None}:
            life.journal.write_bytes(left)


def _edited(life: Damage) -> None:
    """By `sed -i`: a line of it gone, in another file."""
    lines = life.journal.read_bytes().splitlines(keepends=True) if life.journal.exists() else []
    if lines:
        lines.pop(life.dice.randrange(len(lines)))
        temp = life.journal.with_name("sed")
        temp.write_bytes(b"".join(lines))
        temp.replace(life.journal)


def _glued(life: Damage) -> None:
    with life.journal.open("ab") as file:
        file.write(b'{"t": "message", "at": "2026')


def _removed(life: Damage) -> None:
    life.journal.unlink(missing_ok=True)


def _no_longer_kept(life: Damage) -> None:
    for path in life.place.kept.iterdir():
        if life.dice.random() < 0.5:
            path.unlink()


def _chat_emptied(life: Damage) -> None:
    if life.place.pm.chat.exists():
        life.place.pm.chat.write_bytes(b"")


def _index_removed(life: Damage) -> None:
    """Which alone knows what no file has, and of that where it stood."""
    if not life.daemon.alive:
        for path in life.place.root.glob("index.sqlite*"):
            path.unlink()
        life.unlisted |= {*life.said}
        life.vague = True


WAYS: dict[str, Callable[[Damage], None]] = {
    "journal overwritten": _restored(_over, all_of_it=False),
    "folder overwritten": _restored(_over, all_of_it=True),
    "journal replaced": _restored(_instead, all_of_it=False),
    "folder replaced": _restored(_instead, all_of_it=True),
    "truncated": _truncated,
    "emptied": _emptied,
    "zeros": _filled(b"\0"),
    "other bytes": _filled(b"\xff"),
    "line breaks": _filled(b"\n"),
    "spliced": _spliced,
    "edited": _edited,
    "glued": _glued,
    "removed": _removed,
    "kept removed": _no_longer_kept,
    "chat emptied": _chat_emptied,
    "index removed": _index_removed,
}
