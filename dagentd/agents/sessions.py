"""Kept conversations as sessions: listed, read, searched and exported like our own, from what is kept alone."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dagentd.adapters import clock
from dagentd.agents import records
from dagentd.agents.conversation import Agent, Conversation, Message, Summary, gather
from dagentd.agents.following import Following
from dagentd.agents.keeping import Part
from dagentd.agents.known import Read
from dagentd.agents.ownership import Owner
from dagentd.agents.reading import Reading, lines, transcript
from dagentd.agents.usage import Use
from dagentd.errors import CorruptFile, DagentdError, LimitReached, NotFound
from dagentd.model import times
from dagentd.model.query import Excerpt, Query, snippet

ACTIVE = 300.0  # seconds after its last line in which a conversation counts as going on
_WAITED_FOR = 4 << 20  # bytes that are read before a list is given

Document = dict[str, Any]


@dataclass(frozen=True)
class Kept:
    """A conversation of ours. `key` is its UUID, for a subagent with its id behind."""

    agent: Agent
    key: str
    parts: tuple[Part, ...]

    @property
    def id(self) -> str:
        return f"{self.agent.prefix}-{self.key}"

    @property
    def parent(self) -> str | None:
        uuid, found, _ = self.key.partition(".")
        return f"{self.agent.prefix}-{uuid}" if found else None


class Sessions:
    def __init__(self, following: Following, reading: Reading) -> None:
        self._following, self._reading, self._known = following, reading, following.known
        self._states: dict[Path, tuple[int, records.State]] = {}

    # --- finding ------------------------------------------------------------------------------------------------

    def all(self) -> list[Kept]:
        return [
            Kept(agent, key, tuple(parts))
            for agent in self._following.all_agents
            for key, parts in self._following.keep(agent).all().items()
        ]

    def is_followed(self, session_id: str) -> bool:
        """Whether an id is one of another agent's conversations, kept or not."""
        return any(session_id.startswith(f"{agent.prefix}-") and _is_uuid(session_id[len(agent.prefix) + 1 :])
                   for agent in self._following.all_agents)  # fmt: skip

    def find(self, session_id: str) -> Kept:
        for agent in self._following.all_agents:
            key = session_id.removeprefix(f"{agent.prefix}-")
            if key != session_id and _is_uuid(key) and (parts := self._following.keep(agent).parts(key)):
                return Kept(agent, key, tuple(parts))
        raise NotFound(f"no conversation {session_id!a} is kept", hint="dagentd sessions")

    def owner(self, kept: Kept) -> Owner | None:
        return self._following.owner(kept.agent, kept.key)

    def state(self, kept: Kept) -> records.State:
        path = self._following.keep(kept.agent).state_file(kept.key)
        try:
            changed = path.stat().st_mtime_ns
        except FileNotFoundError:
            return records.State()
        if path not in self._states or self._states[path][0] != changed:
            self._states[path] = changed, records.read(path)
        return self._states[path][1]

    # --- listing ------------------------------------------------------------------------------------------------

    def listed(
        self, *, roots: set[str] | None = None, agent: str | None = None, worktree: str | None = None,
        since: str | None = None, parent: str | None = None, status: str | None = None, limit: int | None = None,
    ) -> list[Document]:  # fmt: skip
        """The last active first. `roots`: only those of these projects; subagents only by their `parent`."""
        every = self.all()
        self._catch_up(every)
        reads = self._reads()
        found = [
            self._summary(kept, reads)
            for kept in every
            if kept.parent == parent and agent in (None, kept.agent.name, kept.agent.prefix)
        ]
        chosen = [
            each for each in found
            if (roots is None or each["project"] in roots)
            and (worktree is None or worktree in (each["worktree"], os.path.basename(each["worktree"])))
            and (since is None or (each["lastActiveAt"] or "") >= since)
            and status in (None, each["status"])
        ]  # fmt: skip
        return sorted(chosen, key=lambda each: each["lastActiveAt"] or "", reverse=True)[:limit]

    def of_project(self, root: str) -> list[tuple[Document, str]]:
        """Its conversations but for subagents', as far as they were read: the last active first, in few words, each
        with the folder that it was last in. An agent may enter another worktree than the one that it began in."""
        reads, found = self._reads(), []
        for kept in self.all():
            owner, read = self.owner(kept), reads.get((kept.agent.name, kept.key, kept.parts[-1].number))
            if kept.parent is None and owner is not None and owner.root == root and read is not None:
                facts = read.facts
                about = {"id": kept.id, "agent": kept.agent.name, "title": facts.get("title") or facts.get("preview"),
                         "lastActiveAt": facts.get("lastActiveAt")}  # fmt: skip
                found.append((about, facts.get("last", {}).get("cwd") or owner.worktree))
        return sorted(found, key=lambda each: each[0]["lastActiveAt"] or "", reverse=True)

    def _catch_up(self, every: list[Kept]) -> None:
        """With what was appended just now; what is taken in for the first time may be more than one would wait for."""
        reads, left = self._reads(), _WAITED_FOR
        for kept in every:
            for part in kept.parts:
                read = reads.get((kept.agent.name, kept.key, part.number))
                with contextlib.suppress(DagentdError):  # one that is damaged holds up nothing; `problems` has it
                    behind = part.size() - (read.pos if read is not None else 0)
                    if 0 < behind <= left:
                        left -= behind
                        try:
                            self._reading.catch_up(kept.agent, kept.key, part)
                        except LimitReached:  # another process writes to the index for long: as far as it is read
                            return

    def _reads(self) -> dict[tuple[str, str, int], Read]:
        return {
            (agent.name, read.name, read.part): read
            for agent in self._following.all_agents
            for read in self._known.all_read(agent.name)
        }

    def _summary(self, kept: Kept, reads: dict[tuple[str, str, int], Read]) -> Document:
        owner, state = self.owner(kept), self.state(kept)
        read = reads.get((kept.agent.name, kept.key, kept.parts[-1].number))
        facts = read.facts if read is not None else {}
        first, last = facts.get("first", {}), facts.get("last", {})
        parts = [each for part in kept.parts if (each := reads.get((kept.agent.name, kept.key, part.number)))]
        total = int(facts.get("messages", 0)) if len(parts) < 2 else self._known.count([each.key for each in parts])
        return {
            "id": kept.id,
            "type": "followed",
            "agent": kept.agent.name,
            "title": facts.get("title") or facts.get("preview"),
            "model": last.get("model"),
            "project": owner.root if owner else None,
            "worktree": owner.worktree if owner else first.get("cwd") or "",
            "branch": last.get("branch"),
            "featureId": None,
            "status": self._status(state, facts.get("lastActiveAt")),
            "startedAt": facts.get("startedAt") or first.get("started_at"),
            "lastActiveAt": facts.get("lastActiveAt"),
            "messages": total - int(facts.get("since", 0)),
            "total": total,
            "tokens": facts.get("tokens"),
            "size": sum(map(_size, kept.parts)),
            "transcript": "present" if self.is_present(kept) else "deleted",
        }

    def _status(self, state: records.State, last: str | None) -> str:
        if state.archived_at is not None and not times.later(last, state.archived_at):
            return "archived"
        moment = times.parse(last)
        return "active" if moment and abs((clock.now() - moment).total_seconds()) < ACTIVE else "idle"

    def is_present(self, kept: Kept) -> bool:
        """Whether its agent still has it, where that ever had it."""
        return any(map(os.path.lexists, self.state(kept).sources))

    def get(self, session_id: str) -> Document:
        kept = self._fresh(session_id)
        reads = self._reads()
        read = reads[kept.agent.name, kept.key, kept.parts[-1].number]
        first, last = read.facts.get("first", {}), read.facts.get("last", {})
        subagents = [each.id for each in self.all() if each.parent == kept.id]
        parent = f"{kept.agent.prefix}-{first['parent']}" if first.get("parent") else kept.parent
        known = {
            "cwd": first.get("cwd"),
            "version": last.get("version"),
            "forkedFrom": f"{kept.agent.prefix}-{first['forked_from']}" if first.get("forked_from") else None,
            "parent": parent,
            "compactions": int(read.facts.get("summaries", 0)),
            "readBy": read.version,
            "kept": [str(part.sealed_path if part.is_sealed else part.path) for part in kept.parts],
            "subagents": subagents,
            "pinned": sorted(self.state(kept).pinned),
            "resume": None if kept.parent else self._resume(kept, first.get("cwd")),
        }
        return {**self._summary(kept, reads), **known}

    def _resume(self, kept: Kept, cwd: str | None) -> str:
        """To be typed into a shell: what an agent wrote stays one word of it."""
        command = shlex.join(kept.agent.resume(kept.key))
        return f"cd {shlex.quote(cwd)} && {command}" if cwd and os.path.isdir(cwd) else command

    # --- reading ------------------------------------------------------------------------------------------------

    def _fresh(self, session_id: str) -> Kept:
        kept = self.find(session_id)
        for part in kept.parts:
            self._reading.catch_up(kept.agent, kept.key, part)
        return kept

    def conversation(self, session_id: str) -> Conversation:
        """All of it, in the order of the file; of one that was rewritten, what came before first."""
        kept = self.find(session_id)
        return gather(event for part in kept.parts for event in _events(kept, part))

    def messages(self, session_id: str, limit: int) -> tuple[list[Document], int]:
        """The last of those since the agent's last compaction, and how many these are."""
        kept = self._fresh(session_id)
        if len(kept.parts) > 1:
            whole = self.conversation(session_id)
            found = whole.messages[whole.since :]
            return [each.document() for each in found[-limit:]], len(found)
        read = self._known.read(kept.agent.name, kept.key, kept.parts[0].number)
        total, since = int(read.facts.get("messages", 0)), int(read.facts.get("since", 0))
        page = self._reading.messages(kept.agent, kept.key, kept.parts[0], max(since, total - limit))
        return [each.document() for each in page], total - since

    def history(self, session_id: str, before: str | None, limit: int) -> tuple[list[Document], bool]:
        """Those before a message, or the last ones; whether there are more before them."""
        kept = self._fresh(session_id)
        if len(kept.parts) > 1:
            return _page(self.conversation(session_id).messages, before, limit)
        read = self._known.read(kept.agent.name, kept.key, kept.parts[0].number)
        end: int | None = int(read.facts.get("messages", 0))
        if before is not None and (end := self._known.seq_of(read, before)) is None:
            raise _unknown(before)
        assert end is not None
        start = max(0, end - limit)
        page = self._reading.messages(kept.agent, kept.key, kept.parts[0], start, end - start)
        return [each.document() for each in page], start > 0

    def after(self, session_id: str, last: str | None, most: int | None = None) -> list[Document]:
        """The messages behind one, or all where that is not known; or the last of them."""
        kept = self._fresh(session_id)
        if len(kept.parts) > 1:
            every = self.conversation(session_id).messages
            begin = next((number for number, each in enumerate(every, 1) if each.id == last), 0)
            return [each.document() for each in every[max(begin, len(every) - (most or len(every))) :]]
        read = self._known.read(kept.agent.name, kept.key, kept.parts[0].number)
        known = self._known.seq_of(read, last) if last is not None else None
        begin, total = 0 if known is None else known + 1, int(read.facts.get("messages", 0))
        page = self._reading.messages(kept.agent, kept.key, kept.parts[0], max(begin, total - (most or total)))
        return [each.document() for each in page] if begin < total else []

    def summary(self, session_id: str) -> Summary | None:
        """The agent's own, where it compacted, the last time that it did."""
        kept = self._fresh(session_id)
        told = (self._reading.summary(kept.agent, kept.key, part) for part in reversed(kept.parts))
        return next(filter(None, told), None)

    def pinned(self, session_id: str) -> list[str]:
        """The texts of the messages that were pinned in it."""
        kept = self.find(session_id)
        found = (
            next(filter(None, (self._reading.said(kept.agent, kept.key, part, each) for part in kept.parts)), "")
            for each in sorted(self.state(kept).pinned)
        )
        return [text for text in found if text]

    @contextlib.contextmanager
    def raw(self, session_id: str) -> Iterator[Iterator[bytes]]:
        """The bytes of the transcript as the agent last had it."""
        part = self.find(session_id).parts[-1]
        with contextlib.closing(part.opened()) as stream:
            yield iter(lambda: stream.read(1 << 20), b"")

    def export(self, session_id: str) -> Document:
        whole = self.conversation(session_id)
        return {
            "version": 1,
            "exportedAt": clock.stamp(),
            "session": self.get(session_id),
            "checkpoint": self.state(self.find(session_id)).checkpoint,
            "messages": [message.document() for message in whole.messages],
            "inChat": [message.id for message in whole.messages[whole.since :]],
            "moves": [],
            "summaries": [{"id": each.id, "at": each.at, "text": each.text} for each in whole.summaries],
        }

    def search(
        self, text: str, roots: set[str] | None, session_id: str | None, limit: int, excerpt: Excerpt = snippet
    ) -> list[Document]:
        """As `session.search` has them. A message that is in several parts is found once."""
        query = Query(text)
        chosen = [self.find(session_id)] if session_id is not None else self.all()
        if roots is not None:
            chosen = [kept for kept in chosen if (owner := self.owner(kept)) is not None and owner.root in roots]
        by_part = {part: kept for kept in chosen for part in kept.parts}
        self._catch_up(chosen)
        parts = {part: (kept.agent, kept.key) for part, kept in by_part.items()}
        found: dict[tuple[str, str], Document] = {}
        for hit in self._reading.search(query, parts, limit):
            kept = by_part[hit.part]
            told = {"role": hit.role, "timestamp": hit.at, "snippet": excerpt(hit.text, query)}
            found.setdefault((kept.id, hit.message_id), {"sessionId": kept.id, "messageId": hit.message_id, **told})
        return list(found.values())

    def uses(self, roots: set[str] | None = None, since: str | None = None) -> list[Use]:
        """Every answer, with whose it was: of these projects, and not before a moment."""
        kept = {(each.agent.name, each.key): each for each in self.all()}
        found = []
        for agent in self._following.all_agents:
            for key, usage in self._known.usages(agent.name):
                one = kept.get((agent.name, key))
                owner = self.owner(one) if one is not None else None
                if one is None or (roots is not None and (owner is None or owner.root not in roots)):
                    continue
                if since is None or usage.at >= since:
                    found.append(Use(usage, agent.name, one.parent or one.id, owner.worktree if owner else ""))
        return found

    # --- changing -----------------------------------------------------------------------------------------------

    def pin(self, session_id: str, message_id: str, pinned: bool) -> None:
        kept = self._fresh(session_id)
        reads = [self._known.read(kept.agent.name, kept.key, part.number) for part in kept.parts]
        if pinned and all(self._known.seq_of(read, message_id) is None for read in reads):
            raise _unknown(message_id)
        self._record(kept, {"t": "pin", "messageId": message_id, "pinned": pinned})

    def archive(self, session_id: str, archived: bool = True) -> Document:
        """Until its next line."""
        self._record(self.find(session_id), {"t": "archive", "archived": archived})
        return self.get(session_id)

    def keep_checkpoint(self, session_id: str, checkpoint: Document) -> None:
        self._record(self.find(session_id), {"t": "checkpoint", "checkpoint": checkpoint})

    def _record(self, kept: Kept, record: Document) -> None:
        with self._following.writing(kept.agent) as keep:
            records.append(keep.state_file(kept.key), record)


def _size(part: Part) -> int:
    try:
        return part.size()
    except CorruptFile:
        return part.stored()


def _events(kept: Kept, part: Part) -> Iterator[Any]:
    reader = kept.agent.reader(transcript(kept.key), None)
    for _, line in lines(part):
        yield from reader.feed(line)


def _page(messages: list[Message], before: str | None, limit: int) -> tuple[list[Document], bool]:
    end = len(messages)
    if before is not None:
        end = next((number for number, each in enumerate(messages) if each.id == before), -1)
        if end < 0:
            raise _unknown(before)
    start = max(0, end - limit)
    return [each.document() for each in messages[start:end]], start > 0


def _unknown(message_id: str) -> NotFound:
    return NotFound(f"no message {message_id!a} in this conversation", hint="dagentd history SESSION has their ids.")


def _is_uuid(key: str) -> bool:
    """As agents name conversations: a session of ours may well be called claude-something."""
    uuid = key.partition(".")[0]
    return len(uuid) == 36 and uuid.count("-") == 4
