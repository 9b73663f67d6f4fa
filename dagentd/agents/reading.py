"""Reading kept transcripts: what their lines tell is listed, searched and counted, each line read once.

All of it can be made again, and is where a newer version of ours reads a format otherwise."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path

from dagentd.agents.conversation import (
    COMMAND,
    Agent,
    Conversation,
    Event,
    Facts,
    Message,
    Reader,
    Summary,
    Title,
    Transcript,
    Usage,
)
from dagentd.agents.keeping import Part, exactly
from dagentd.agents.known import Known, Read, explained
from dagentd.errors import CorruptFile, DagentdError
from dagentd.model import times
from dagentd.model.query import Query, indexed
from dagentd.store.journal.index import discard
from dagentd.store.search_index import Row, SearchIndex, Text

VERSION = 2  # of what is made here of the events of a line
_PIECE = 1 << 20
_BATCH = 2 << 20  # bytes of lines whose meaning is noted at a time
_MARKED = 1 << 20  # bytes after which a transcript can be read from another place
_BEYOND = 4 << 20  # bytes after the last message of a page in which the results of its tools stand
_PREVIEW = 200  # characters
_LOOKED_AT = 1 << 15  # for them: a private key has less


def transcript(key: str) -> Transcript:
    uuid, _, subagent = key.partition(".")
    return Transcript(uuid, subagent or None)


def lines(part: Part, start: int = 0) -> Iterator[tuple[int, bytes]]:
    """Whole lines from a position on, each with where it begins; what is behind the last newline waits for its own."""
    held: list[bytes] = []
    with contextlib.closing(part.opened_at(start)) as stream:
        while piece := stream.read(_PIECE):
            first, *more = piece.split(b"\n")
            held.append(first)
            for following in more:
                line = b"".join(held)
                yield start, line
                start += len(line) + 1
                held = [following]


def _line(agent: Agent, key: str, part: Part, start: int, end: int) -> list[Event]:
    """The events that one line makes by itself; none where it cannot be read any more."""
    try:
        with contextlib.closing(part.opened_at(start)) as stream:
            line = exactly(stream, end - start)
    except DagentdError:
        return []
    return agent.reader(transcript(key), None).feed(line)


@dataclass(frozen=True)
class Hit:
    part: Part
    message_id: str
    role: str
    at: str
    text: str


class Reading:
    """Any thread may call. `words` is the file of the index that is searched, None where the disk allows none."""

    def __init__(self, known: Known, words: Path | None) -> None:
        self._known, self._lock = known, threading.RLock()
        self._words_file = words
        self._opened = self._open()

    def close(self) -> None:
        with self._lock:
            self._opened.close()

    @contextlib.contextmanager
    def _words(self) -> Iterator[SearchIndex]:
        """Opened again where another process began it anew: it forgot something."""
        with self._lock, explained(self._words_file, self.begin_anew):
            if self._words_file is not None and not self._opened.in_place:
                self._opened.close()
                self._opened = self._open()
            yield self._opened

    def _open(self) -> SearchIndex:
        """Where it was damaged or is gone it is empty now: all is read again."""
        words = SearchIndex(self._words_file)
        if words.in_place and words.is_empty and self._known.has_messages:
            self._known.forget_all()
        return words

    def _forget_words(self, parts: Iterable[Part]) -> None:
        with self._words() as words:
            for part in parts:
                if (known := words.known(part.path)) is not None:
                    words.forget(known.key)

    def catch_up(self, agent: Agent, key: str, part: Part, most: int | None = None) -> int:
        """Read what a part has gained, or some of it; how many messages it has now."""
        with self._lock:
            read = self._begun(agent, key, part)
            if read.pos >= part.size():
                return int(read.facts.get("messages", 0))
            end = None if most is None else read.pos + most
            reader = agent.reader(transcript(key), read.state)
            batch = _Batch(self._known, read, part)
            for start, line in lines(part, read.pos):
                batch.add(start, start + len(line) + 1, reader.feed(line))
                if batch.is_full:
                    if not self._note(batch, reader):
                        return self.catch_up(agent, key, part, most)
                    batch = _Batch(self._known, read, part)
                if end is not None and read.pos >= end:
                    break
            if not self._note(batch, reader):
                return self.catch_up(agent, key, part, most)
            return int(read.facts.get("messages", 0))

    def behind(self, agent: Agent, kept: dict[str, list[Part]]) -> list[tuple[str, Part, int]]:
        """The parts with lines that were not read, or by another version of ours, and how many bytes; 0 where
        that cannot be known: reading it tells why."""
        reads = {(read.name, read.part): read for read in self._known.all_read(agent.name)}
        found = []
        for key, part in ((key, part) for key, parts in kept.items() for part in parts):
            try:
                read, size = reads.get((key, part.number)), part.size()
            except CorruptFile:
                found.append((key, part, 0))
                continue
            known = read.pos if read is not None and read.version == f"{agent.version}.{VERSION}" else 0
            if known < size:
                found.append((key, part, size - known))
        return found

    def _begun(self, agent: Agent, key: str, part: Part) -> Read:
        version = f"{agent.version}.{VERSION}"
        read = self._known.read(agent.name, key, part.number)
        if read.version and read.version != version:
            self._known.forget(agent.name, key, part.number)
            self._forget_words([part])
            read = self._known.read(agent.name, key, part.number)
        read.version = version
        return read

    def _note(self, batch: _Batch, reader: Reader) -> bool:
        """The words first: they are known by their line, and noting them twice changes nothing. False if another
        process was here first, as that which takes in what is much."""
        if batch.texts:
            with self._words() as words:
                words.add(words.journal(batch.part.path), batch.texts)
        batch.read.state, batch.read.pos = reader.state(), batch.end
        return self._known.add(batch.read, batch.begin, batch.messages, batch.usages, mark=batch.is_marked)

    def forget(self, agent: Agent, key: str, parts: list[Part]) -> None:
        with self._lock:
            self._forget_words(parts)
            self._known.forget(agent.name, key)

    def begin_anew(self) -> None:
        """Words of what was removed are in no index that is made from now on; all is read again."""
        with self._lock:
            self._opened.close()
            if self._words_file is not None:
                discard(self._words_file)
            self._opened = SearchIndex(self._words_file)
            self._known.forget_all()

    # --- searching ----------------------------------------------------------------------------------------------

    def search(self, query: Query, parts: dict[Part, tuple[Agent, str]], limit: int) -> list[Hit]:
        """Lines with all words of a query in these parts as far as they were read, the best first. Nothing is written:
        a process that takes in much may be writing."""
        with self._words() as words:
            places = {known.key: part for part in parts if (known := words.known(part.path)) is not None}
            rows = iter(words.match(query.expression, places, limit)) if query.terms else words.newest(places)
            hits = (hit for row in rows if (hit := self._hit(row, places[row.journal], parts)) is not None)
            return list(islice((hit for hit in hits if query.terms or query.literally_in(hit.text)), limit))

    def _hit(self, row: Row, part: Part, parts: dict[Part, tuple[Agent, str]]) -> Hit | None:
        """From the line itself: None if it is not what was indexed, or cannot be read any more."""
        agent, key = parts[part]
        message_id = row.id.partition(b"\0")[2].decode("utf-8", "surrogatepass")
        said = [event for event in _line(agent, key, part, row.start, row.end) if isinstance(event, Message)]
        return Hit(part, message_id, said[0].role, said[0].at, said[0].text) if said else None

    # --- messages -----------------------------------------------------------------------------------------------

    def summary(self, agent: Agent, key: str, part: Part) -> Summary | None:
        """The last one of a part, from its own line."""
        held = self._known.read(agent.name, key, part.number).facts.get("summary")
        if held is None:
            return None
        told = (each for each in _line(agent, key, part, held["start"], held["end"]) if isinstance(each, Summary))
        return next((replace(each, trigger=held["trigger"]) for each in told), None)

    def said(self, agent: Agent, key: str, part: Part, message_id: str) -> str:
        """The text of a message, from its first line; nothing if it is in none of this part."""
        start = self._known.start_of(self._known.read(agent.name, key, part.number), message_id)
        if start is None:
            return ""
        line = next(lines(part, start))[1]
        found = agent.reader(transcript(key), None).feed(line)
        return next((each.text for each in found if isinstance(each, Message)), "")

    def messages(self, agent: Agent, key: str, part: Part, first: int, count: int | None = None) -> list[Message]:
        """Those of one part from a number on, without reading what is long before or long after them."""
        read = self._known.read(agent.name, key, part.number)
        pos, before, state = self._known.mark_before(read, first)
        reader, found = agent.reader(transcript(key), state), Conversation()
        wanted, enough = None if count is None else first - before + count, None
        for start, line in lines(part, pos):
            for event in reader.feed(line):
                found.add(event)
            if wanted is not None and enough is None and len(found.messages) > wanted:
                enough = start + _BEYOND
            if enough is not None and start > enough:
                break
        numbers = ((message, self._known.seq_of(read, message.id)) for message in found.messages)
        return [message for message, number in numbers if number is None or number >= first][:count]


def _preview(text: str) -> str:
    """Secrets go before it is cut: half of one is known by no pattern."""
    from dagentd.model.redaction import redacted  # many patterns, which most starts do without

    return " ".join(redacted(text[:_LOOKED_AT]).split())[:_PREVIEW]


class _Batch:
    """The messages, usages and texts that some lines of a part told, until they are noted."""

    def __init__(self, known: Known, read: Read, part: Part) -> None:
        self._known, self.read, self.part = known, read, part
        self.begin = self.end = read.pos
        self.messages: list[tuple[str, int]] = []
        self.usages: list[Usage] = []
        self.texts: list[Text] = []
        self.is_marked = False
        self._new: set[str] = set()

    @property
    def is_full(self) -> bool:
        return self.end - self.begin >= _BATCH or self.is_marked

    def add(self, start: int, end: int, events: list[Event]) -> None:
        self.end = end
        facts = self.read.facts
        for event in events:
            match event:
                case Message():
                    self._say(event, start, end)
                case Usage():
                    self.usages.append(event)
                    if event.tokens:  # else it is a cost
                        facts["tokens"] = event.tokens
                case Summary():
                    self._compacted(event, start, end)
                case Title():
                    if event.by == "user" or facts.get("titleBy") != "user":
                        facts["title"], facts["titleBy"] = event.text, event.by
                case Facts():
                    told = {name: value for name, value in asdict(event).items() if value is not None}
                    facts["first"], facts["last"] = (
                        {**told, **facts.get("first", {})},
                        {**facts.get("last", {}), **told},
                    )
        if end - int(facts.get("marked", 0)) >= _MARKED:
            self._mark()

    def _say(self, message: Message, start: int, end: int) -> None:
        if message.sidechain:
            return
        known = message.id in self._new or self._known.has(self.read, message.id)
        if known and not message.continues:
            return
        if not known:
            self._new.add(message.id)
            self.messages.append((message.id, start))
        facts = self.read.facts
        if message.at:
            facts.setdefault("startedAt", message.at)
            facts["lastActiveAt"] = max(message.at, facts.get("lastActiveAt", ""))
        if message.text:
            if message.role == "user":
                preview = _preview(message.text)
                if "preview" not in facts or (COMMAND.match(facts["preview"]) and not COMMAND.match(preview)):
                    facts["preview"] = preview
            moment = times.parse(message.at)
            at = int(moment.timestamp() * 1000) if moment else 0
            name = f"{start}\0{message.id}".encode("utf-8", "surrogatepass")
            self.texts.append(Text(name, start, end, at, indexed(message.text)))

    def _compacted(self, summary: Summary, start: int, end: int) -> None:
        facts = self.read.facts
        facts["summary"] = {"start": start, "end": end, "trigger": summary.trigger}
        if summary.trigger != "rewind":
            facts["since"] = int(facts.get("messages", 0)) + len(self.messages)
            facts["summaries"] = int(facts.get("summaries", 0)) + 1
            self._mark()

    def _mark(self) -> None:
        self.is_marked = True
        self.read.facts["marked"] = self.end
