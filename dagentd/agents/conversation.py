"""A conversation as an agent's transcript tells it, line by line: the words in which every format is read.

A reader is given one line after the other and answers what each one adds, so that a line appended to 200 MB costs what
it costs in an empty file. `gather` makes a whole of it. Lines that say nothing here (an agent's plumbing, types that
nobody knows yet) answer nothing; whoever keeps a transcript keeps its bytes, not these."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, Protocol

# Stands for what dagentd itself told the agent. The agent writes it into its transcript, up to three times; found,
# summarised and told again it would grow with each turn.
ECHO = "[answered by dagentd]"
COMMAND = re.compile(r"/[\w:-]+(?:\s|$)")  # as /compact, with which a fork begins: it says nothing of what it is about


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A call, with its `result` once that is known."""

    id: str
    name: str
    input: Any
    result: str | None = None
    is_error: bool = False

    def document(self) -> dict[str, Any]:
        told = {"id": self.id, "name": self.name, "input": self.input}
        return told if self.result is None else {**told, "result": self.result, "isError": self.is_error}


@dataclass(frozen=True, slots=True)
class Message:
    """Something that was said. `continues`: more of the message of that id, which came before: an answer may be several
    lines. Without it, an id that came before is the same line again, and nothing new. `sidechain`: said by or to a
    subagent, within its parent's transcript, as agents did until 2026."""

    id: str
    role: Literal["user", "assistant"]
    at: str
    text: str = ""
    tool_uses: tuple[ToolUse, ...] = ()
    model: str | None = None
    continues: bool = False
    sidechain: bool = False

    def document(self) -> dict[str, Any]:
        """As sessions have their messages."""
        known = {"toolUse": [use.document() for use in self.tool_uses] or None, "model": self.model}
        metadata = {key: value for key, value in known.items() if value is not None}
        message = {"id": self.id, "role": self.role, "content": self.text, "timestamp": self.at}
        return {**message, "metadata": metadata} if metadata else message


@dataclass(frozen=True, slots=True)
class Result:
    """The answer of a tool to a call of message `message`, which came before."""

    message: str
    call: str
    text: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Summary:
    """The agent compacted: this is all that it knows of what came before. `trigger` is its word for why (`auto`,
    `manual`); `rewind` for a user's summary of a part, which leaves the rest as it was."""

    id: str
    at: str
    text: str
    trigger: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one answer. The same `key`, in whatever file, is the same answer: it counts once, by its largest
    numbers. `input` is what was neither read from nor written to a cache. `cost` in dollars, if the agent says it."""

    key: str
    at: str
    model: str
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0  # of `output`
    cost: float | None = None
    by_fork: int = 0  # 1 in a fork, which has its origin's answers too: where both tell of one, it is the origin's

    @property
    def tokens(self) -> int:
        """All that was in the model's view with this answer."""
        return self.input + self.output + self.cache_read + self.cache_write


@dataclass(frozen=True, slots=True)
class Title:
    text: str
    by: Literal["user", "agent"] = "agent"


@dataclass(frozen=True, slots=True)
class Facts:
    """News that a line has of its conversation and no line before it had. None: nothing new."""

    cwd: str | None = None
    branch: str | None = None
    version: str | None = None
    model: str | None = None
    started_at: str | None = None
    forked_from: str | None = None
    parent: str | None = None

    def then(self, later: Facts) -> Facts:
        """Both, the later one where they differ."""
        told = {each.name: getattr(later, each.name) for each in fields(Facts)}
        return replace(self, **{name: value for name, value in told.items() if value is not None})


Event = Message | Result | Summary | Usage | Title | Facts


class Reader(Protocol):
    def feed(self, line: bytes) -> list[Event]:
        """The events of one line, with or without its newline. Never raises: no line of this format, no events."""

    def state(self) -> dict[str, Any]:
        """All that the next line needs to know of those before, small however long the transcript is, as JSON."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """Which conversation a file holds, by its name and place."""

    uuid: str
    subagent: str | None = None
    compressed: bool = False


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file beside a transcript of the same conversation; `name` is its path below the conversation's folder."""

    uuid: str
    name: str


@dataclass(frozen=True, slots=True)
class Agent:
    """A program whose conversations are followed. `version` is raised whenever the same lines are read differently:
    what was derived from them by an earlier one is made again."""

    name: str
    prefix: str
    title: str
    version: int
    roots: Callable[[Mapping[str, str], Path], list[Path]]
    """The folders that hold transcripts, by environment and home; they need not exist."""
    place: Callable[[Path], Transcript | Attachment | None]
    """The transcript or attachment that a file is, by its path relative to its root; None for any other file."""
    reader: Callable[[Transcript, Mapping[str, Any] | None], Reader]
    """A reader at the beginning, or, with the state of an earlier one, at the line after that one's last."""
    resume: Callable[[str], tuple[str, ...]]
    """The command that goes on with the conversation of that UUID, to be typed in its `cwd`."""


@dataclass(slots=True)
class Conversation:
    """All that was told, in the order of the file. `since` is the number of messages before the last compaction."""

    messages: list[Message] = field(default_factory=list)
    summaries: list[Summary] = field(default_factory=list)
    usages: list[Usage] = field(default_factory=list)
    title: Title | None = None
    first: Facts = Facts()
    last: Facts = Facts()
    since: int = 0
    _places: dict[str, int] = field(default_factory=dict)

    def add(self, event: Event) -> None:
        match event:
            case Message():
                self._say(event)
            case Result():
                self._answer(event)
            case Summary():
                self.summaries.append(event)
                self.since = self.since if event.trigger == "rewind" else len(self.messages)
            case Usage():
                self.usages.append(event)
            case Title():
                self.title = self.title if self.title and self.title.by == "user" and event.by != "user" else event
            case Facts():
                self.first, self.last = event.then(self.first), self.last.then(event)

    def _say(self, message: Message) -> None:
        if message.sidechain:
            return
        place = self._places.get(message.id)
        if place is None:
            self._places[message.id] = len(self.messages)
            self.messages.append(replace(message, continues=False))
        elif message.continues:
            before = self.messages[place]
            text = "\n\n".join(filter(None, (before.text, message.text)))
            self.messages[place] = replace(before, text=text, tool_uses=(*before.tool_uses, *message.tool_uses))

    def _answer(self, result: Result) -> None:
        if (place := self._places.get(result.message)) is None:
            return
        before = self.messages[place]
        uses = tuple(
            replace(use, result=result.text, is_error=result.is_error) if use.id == result.call else use
            for use in before.tool_uses
        )
        self.messages[place] = replace(before, tool_uses=uses)


def gather(events: Iterable[Event]) -> Conversation:
    conversation = Conversation()
    for event in events:
        conversation.add(event)
    return conversation
