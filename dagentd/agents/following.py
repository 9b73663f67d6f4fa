"""Following transcripts: what an agent has written is taken in, from where we were, whatever it did to its file.

Nothing here depends on having heard of a change, and nothing on what was noted before a crash: a file goes on where its
kept part ends if it begins as that does, else it has a part of its own."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from dagentd.adapters.files import disk
from dagentd.adapters.files.flock import attempt, holder
from dagentd.agents import finding, ownership, records
from dagentd.agents.conversation import Agent, Attachment, Transcript
from dagentd.agents.finding import Found, Refused
from dagentd.agents.keeping import Keep, Part, key_of
from dagentd.agents.known import Known, Seen, mark_of
from dagentd.agents.ownership import Owner, Ownership
from dagentd.agents.source import Source, first_folder
from dagentd.errors import Conflict, DagentdError, LimitReached
from dagentd.model.project import Registered
from dagentd.settings.tables import Agents as Settings
from dagentd.waiting import pause

_AT_ONCE = 4 << 20  # bytes that are taken in before others have their turn: a new line must not wait for long
_AT_ONCE_PACKED = 64 << 20  # what was unpacked before is unpacked again for the next ones
_FREE = 1_000_000_000  # bytes of disk that are left to others
_IDLE = 86_400.0  # seconds after which a part is sealed
_PATIENCE, _PAUSE = 5.0, 0.02  # seconds for another process that writes here


class Parked(LimitReached):
    """There is no room: nothing more is taken in until there is."""


@dataclass(frozen=True)
class Gained:
    """A conversation that has more than before; `more` if the rest of its file is still to be taken in."""

    agent: Agent
    name: str
    part: Part
    more: bool = False


@dataclass
class Survey:
    """A look into the agents' folders: what is to be taken in, the newest first, and what is refused."""

    due: list[Found] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    watched: list[Path] = field(default_factory=list)
    elsewhere: int = 0  # transcripts that are of no project of ours

    @property
    def size(self) -> int:
        return sum(found.status.st_size for found in self.due)


@dataclass(frozen=True)
class Conversations:
    """How many an agent has in a project, since when, in how many worktrees, and how many of them are kept so far."""

    agent: Agent
    count: int
    kept: int
    bytes: int
    oldest: float
    worktrees: int


class Following:
    """The kept transcripts of all followed agents in one folder. One process writes there at a time."""

    def __init__(
        self, folder: Path, known: Known, settings: Callable[[], Settings], projects: Callable[[], list[Registered]],
        agents: tuple[Agent, ...],
    ) -> None:  # fmt: skip
        self.folder, self.known = folder, known
        self._settings, self._projects, self.all_agents = settings, projects, agents
        self._ownership: Ownership | None = None
        self._stored: int | None = None
        self._known_owners: dict[tuple[str, str], Owner] = {}  # nobody gives a conversation away
        self._roots: dict[str, str] | None = None  # of projects by their ids, as of the last survey

    def agents(self) -> list[Agent]:
        """Those that are followed."""
        wanted = set(self._settings().follow) - records.ignored(self.folder)
        return [agent for agent in self.all_agents if agent.name in wanted]

    def keep(self, agent: Agent) -> Keep:
        return Keep(self.folder / agent.name)

    def owner(self, agent: Agent, key: str) -> Owner | None:
        """Whose a kept conversation is, where that is now: a subagent's is its parent's."""
        owner = self._first_owner(agent, key)
        return None if owner is None else self._now(owner)

    def _now(self, owner: Owner) -> Owner:
        if self._roots is None:
            self._roots = _roots(self._projects())
        return ownership.now(owner, self._roots)

    def _first_owner(self, agent: Agent, key: str) -> Owner | None:
        """As it was when it was taken in."""
        place = agent.name, key
        if place not in self._known_owners:
            states = (records.read(self.keep(agent).state_file(name)) for name in (key, key.partition(".")[0]))
            owner = next((state.owner for state in states if state.owner is not None), None)
            if owner is None:
                return None
            self._known_owners[place] = owner
        return self._known_owners[place]

    # --- looking ------------------------------------------------------------------------------------------------

    def survey(self) -> Survey:
        """Look at every name in the agents' folders; nothing is read."""
        settings = self._settings()
        owners = [
            owner
            for agent in self.all_agents
            for key in self.keep(agent).all()
            if (owner := self._first_owner(agent, key))
        ]
        projects = self._projects()
        self._roots = _roots(projects)
        self._ownership = Ownership(projects, owners, scope=settings.scope, ignored=settings.ignore_paths)
        self._stored = None
        agents, found = self.agents(), Survey()
        look = finding.look(agents)
        found.refused, found.watched = look.refused, look.watched()
        for agent in agents:
            seen, forgotten = self.known.seen(agent.name), records.forgotten(self.folder)
            for each in look.files:
                if each.agent is agent:
                    self._sort(each, seen.get(each.path), forgotten, found)
        found.due.sort(key=lambda each: (_rank(each.what), -each.status.st_mtime))
        return found

    def conversations_in(self, root: str) -> list[Conversations]:
        """Count a project's conversations of each agent, kept or not; of each file only the beginning is read. A
        forgotten one is none."""
        self.survey()
        look, forgotten, found = finding.look(self.agents()), records.forgotten(self.folder), []
        for agent in self.agents():
            owned = {
                key: (each.status, owner.worktree)
                for each in look.files
                if each.agent is agent and _is_whole(each.what) and (key := _key_unless(forgotten, each)) is not None
                and (owner := self._owner_of(each)) is not None and owner.root == root
            }  # fmt: skip
            if owned:
                sizes, times = zip(*((each.st_size, each.st_mtime) for each, _ in owned.values()), strict=True)
                worktrees = len({worktree for _, worktree in owned.values()})
                kept = len(owned.keys() & self.keep(agent).all().keys())
                found.append(Conversations(agent, len(owned), kept, sum(sizes), min(times), worktrees))
        return found

    def _owner_of(self, found: Found) -> Owner | None:
        key = _key(found)
        if key is None or not isinstance(found.what, Transcript):
            return None
        if (known := self.owner(found.agent, key)) is not None:
            return known
        try:
            with contextlib.closing(Source(found)) as source:
                owner = self._owners.of(first_folder(source))
                return None if owner is None else self._now(owner)
        except DagentdError:  # it is told when it is taken in
            return None

    def _sort(self, each: Found, seen: Seen | None, forgotten: set[str], survey: Survey) -> None:
        if (key := _key_unless(forgotten, each)) is None:
            return
        if seen is None or seen.mark != mark_of(each.status):
            survey.due.append(each)
        elif seen.part is None:
            if self._owners.of(seen.cwd) is not None or self.owner(each.agent, key) is not None:
                survey.due.append(each)  # its project was registered since, or its conversation came later
            else:
                survey.elsewhere += isinstance(each.what, Transcript)

    @property
    def _owners(self) -> Ownership:
        if self._ownership is None:
            self.survey()
        assert self._ownership is not None
        return self._ownership

    # --- taking in ----------------------------------------------------------------------------------------------

    def take(self, found: Found) -> Gained | None:
        """All that a file has and we do not, or as much of it as is done at once. None if there is nothing."""
        key = _key(found)
        if key is None:
            return None
        with self.writing(found.agent) as keep:
            if records.digest(found.agent.name, key) in records.forgotten(self.folder):
                return None
            if isinstance(found.what, Attachment):
                self._attach(keep, found, found.what)
                return None
            with contextlib.closing(Source(found)) as source:
                return self._take(keep, found.agent, found.what, key, source)

    def _take(self, keep: Keep, agent: Agent, what: Transcript, key: str, source: Source) -> Gained | None:
        parts, seen = keep.parts(key), self.known.seen_of(agent.name, key)
        mark = mark_of(source.status)
        if not parts and not self._claim(keep, agent, what, key, source):
            return None
        state = records.read(keep.state_file(key))
        part = self._continued(source, parts, seen, state)
        new = part is None
        if part is None:
            self._check_room(source.status.st_size)
            part = keep.begin(key, len(parts))
        gained, more = self._copy(part, source)
        if more:
            mark = (*mark[:2], -1, 0, 0)  # known again by its place on disk, and due again
        elif new and os.stat(source.path, follow_symlinks=False).st_mtime_ns != mark[3]:
            mark = (0, 0, -1, 0, 0)  # it was written to while it was copied: compared as a whole once more
        self.known.saw(agent.name, key, Seen(source.path, mark, part.number))
        if state.source != str(source.path):  # it also moves back where it was
            records.append(keep.state_file(key), {"t": "source", "path": str(source.path)})
        return Gained(agent, key, part, more) if gained or new else None

    def _continued(self, source: Source, parts: list[Part], seen: list[Seen], state: records.State) -> Part | None:
        """The part that begins as this file does."""
        mark, scrubbed = mark_of(source.status), state.scrubbed
        for part in _likely_first(parts, seen, mark):
            trusted = _is_trusted(part, seen, mark)
            if source.follows(part, trusted=trusted, scrubbed=scrubbed.get(part.number, ())):
                return part
        return None

    def _claim(self, keep: Keep, agent: Agent, what: Transcript, key: str, source: Source) -> bool:
        """Whether a conversation that is new to us is ours to keep; whose it is stands beside it before it does."""
        self._known_owners.pop((agent.name, key), None)  # another process may have purged it, and its records
        if self._first_owner(agent, key) is not None:
            return True
        cwd = self._folder_elsewhere(agent, what.uuid) if what.subagent else None
        cwd = cwd or first_folder(source)
        if (owner := self._owners.of(cwd)) is None:
            self.known.saw(agent.name, key, Seen(source.path, mark_of(source.status), None, cwd))
            return False
        records.append(keep.state_file(key), records.owned(owner))
        return True

    def _folder_elsewhere(self, agent: Agent, uuid: str) -> str | None:
        """Where a conversation was begun that is not ours: what belongs to it is not ours either."""
        return next((seen.cwd for seen in self.known.seen_of(agent.name, uuid) if seen.part is None), None)

    def _copy(self, part: Part, source: Source) -> tuple[int, bool]:
        size = part.size()
        if not source.is_packed and source.status.st_size <= size:
            return 0, False
        most = _AT_ONCE_PACKED if source.is_packed else _AT_ONCE
        pieces = source.pieces(size, most)
        if (first := next(pieces, None)) is None:
            return 0, False
        self._check_room(len(first) if source.is_packed else source.status.st_size - size)
        if part.is_sealed:
            part.unseal()
        gained = part.append(_with_first(first, pieces))
        self._stored = self._stored + gained if self._stored is not None else None
        return gained, gained >= most

    def _attach(self, keep: Keep, found: Found, what: Attachment) -> None:
        """A file that is part of a conversation which is kept; another content under the same name stands beside it."""
        limit = self._settings().max_attachment
        if self.owner(found.agent, what.uuid) is None:
            cwd = self._folder_elsewhere(found.agent, what.uuid)
            self.known.saw(found.agent.name, what.uuid, Seen(found.path, mark_of(found.status), None, cwd))
            return
        if found.status.st_size <= limit:
            with contextlib.closing(Source(found)) as source:
                data = b"".join(source.pieces(0, limit))
            self._check_room(len(data))
            keep.attach(what.uuid, what.name, data)
        self.known.saw(found.agent.name, what.uuid, Seen(found.path, mark_of(found.status), -1))

    def _check_room(self, wanted: int) -> None:
        most = self._settings().max_bytes
        if self._stored is None:
            self._stored = sum(self.keep(agent).stored() for agent in self.all_agents)
        if self._stored + wanted > most:
            told = f"kept conversations would have more than agents.max_bytes, {most}; nothing more is taken in"
            raise Parked(told, path=self.folder, hint="Raise agents.max_bytes, or dagentd forget some.")
        free = os.statvfs(self.folder)
        if free.f_bavail * free.f_frsize < _FREE + wanted:
            told = "less than 1 GB of the disk is free; no more conversations are taken in"
            raise Parked(told, path=self.folder, hint="Free some space; what the agents have is taken in then.")

    # --- order --------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def writing(self, agent: Agent) -> Iterator[Keep]:
        """The folder of an agent, while no other process writes there. Who waits has the turn: a process that takes in
        a thousand files lets go of the lock for a moment only, and could have it again each time."""
        keep, deadline = self.keep(agent), time.monotonic() + _PATIENCE
        keep.make()
        with self._held("turn", deadline):
            lock = self._held("lock", deadline)
        with lock:
            yield keep

    def _held(self, name: str, deadline: float) -> contextlib.ExitStack:
        """Until it is left."""
        path, held = self.folder / name, contextlib.ExitStack()
        while (lock := attempt(path)) is None:
            if time.monotonic() >= deadline:
                told = f"{holder(self.folder / 'lock')} is writing there"
                raise Conflict(told, path=self.folder, hint="dagentd status")
            pause(_PAUSE)
        held.callback(lock.release)
        return held

    def tidy(self) -> None:
        """Remove what a crash left, and seal what has been idle for a day."""
        for agent in self.all_agents:
            if disk.is_missing(self.keep(agent).folder):
                continue
            with self.writing(agent) as keep:
                keep.discard_temps()
            for part in [part for parts in keep.all().values() for part in parts]:
                if _is_idle(part):
                    with self.writing(agent):
                        if _is_idle(part):
                            part.seal()


def _key(found: Found) -> str | None:
    what = found.what
    return key_of(what.uuid, what.subagent if isinstance(what, Transcript) else None)


def _key_unless(forgotten: set[str], found: Found) -> str | None:
    key = _key(found)
    return None if key is None or records.digest(found.agent.name, key) in forgotten else key


def _is_whole(what: Transcript | Attachment) -> bool:
    return isinstance(what, Transcript) and what.subagent is None


def _roots(projects: list[Registered]) -> dict[str, str]:
    return {each.id: str(each.project.root) for each in projects}


def _rank(what: Transcript | Attachment) -> int:
    """Conversations before what belongs to them, and is theirs whose they are."""
    return 2 if isinstance(what, Attachment) else 0 if _is_whole(what) else 1


def _likely_first(parts: list[Part], seen: list[Seen], mark: tuple[int, ...]) -> list[Part]:
    own = {each.part for each in seen if each.mark[:2] == mark[:2]}
    return sorted(parts, key=lambda part: (part.number not in own, -part.number))


def _is_trusted(part: Part, seen: list[Seen], mark: tuple[int, ...]) -> bool:
    """A file that was read into this part, and has grown or moved. One of the same size with another time was written
    to somewhere."""
    return any(
        each.part == part.number and each.mark[:2] == mark[:2] and (each.mark[2] != mark[2] or each.mark[3] == mark[3])
        for each in seen
    )


def _with_first(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _is_idle(part: Part) -> bool:
    try:
        return time.time() - part.path.stat().st_mtime > _IDLE
    except FileNotFoundError:
        return False
