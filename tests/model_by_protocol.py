"""Plays a good model that is asked to compact: it knows what was planted and answers by the protocol.

It sees only the prompt: a fact counts for it when the words in which it was planted are among the messages sent, and an
item when its text tells the fact. How often it forgets and cites a wrong message can be set."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from dagentd.model.compaction.items import Item
from tests.messages_api import Reply, said
from tests.planted import Conversation, Fact
from tests.planted.scoring import mentions

Operation = dict[str, Any]


@dataclass(frozen=True)
class Line:
    """A message of the prompt, by the name that it has there."""

    alias: str
    role: str
    text: str


def read_prompt(request: Any) -> tuple[list[Item], list[Line]]:
    """The one place that knows the form of the prompt: one JSON object a line, in two sections."""
    text = request["messages"][0]["content"]
    items = [Item(one["id"], one["list"], one["text"], resolved=one.get("resolved") is True)
             for one in _lines(text, "items")]  # fmt: skip
    return items, [Line(one["id"], one["role"], _shown(one)) for one in _lines(text, "messages")]


def _shown(message: dict[str, Any]) -> str:
    checks = [f"{one['name']} {one['passed']} {one['error']}" for one in message.get("checks", ())]
    return "\n".join((message["text"], *checks))


def _lines(text: str, tag: str) -> Iterator[dict[str, Any]]:
    begin = text.find(f"<session-{tag}>")
    if begin >= 0:
        for line in text[begin : text.index(f"</session-{tag}>")].splitlines()[1:]:
            yield json.loads(line)


@dataclass
class Model:
    """`forgets` and `miscites` are shares of the operations that it makes; equal seeds give equal answers."""

    planted: Conversation
    forgets: float = 0.0
    miscites: float = 0.0
    seed: int = 0
    answers: list[list[Operation]] = field(default_factory=list)

    def __call__(self, request: Any) -> Reply:
        """For the script of a server."""
        return said(json.dumps({"operations": self.operations(*read_prompt(request))}), model=request["model"])

    def answer(self, request: Any) -> Any:
        """The body of the response alone."""
        return json.loads(self(request).body)

    def operations(self, items: Sequence[Item], lines: Sequence[Line]) -> list[Operation]:
        rng = random.Random(f"{self.seed} {len(self.answers)}")
        made = [one for one in self._made(items, _Sent(lines)) if rng.random() >= self.forgets]
        for one in made:
            if lines and rng.random() < self.miscites:
                one["sources"] = [rng.choice(lines).alias]
        self.answers.append(made)
        return made

    def _made(self, items: Sequence[Item], sent: _Sent) -> Iterator[Operation]:
        for fact in self.planted.facts:
            begin, end = sent.saying(fact.said), sent.saying(fact.over_said) if fact.over_said else None
            item = _telling(items, fact)
            if end is None and begin is not None and item is None:
                yield from self._begun(items, fact, begin, sent)
            elif end is not None and item is not None and fact.successor is None:
                over = {"op": "move", "to": "completed"} if fact.kind == "request" else {"op": "resolve"}
                yield over | {"item": item.id, "sources": [end]}

    def _begun(self, items: Sequence[Item], fact: Fact, alias: str, sent: _Sent) -> Iterator[Operation]:
        """The newest side of a chain takes the place of whichever older one has an item."""
        older = [one for one in self.planted.facts if _leads_to(one, fact)]
        before = next((item for one in older if (item := _telling(items, one)) is not None), None)
        if before is not None:
            yield {"op": "supersede", "item": before.id, "text": fact.text, "sources": [alias]}
        else:
            yield {"op": "add", "list": fact.list, "text": fact.text, "sources": [alias]}


class _Sent:
    """The messages of one prompt, to be asked which of them says something."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._texts = [(line.alias, _flat(line.text)) for line in lines]

    def saying(self, words: str) -> str | None:
        wanted = _flat(words)
        return next((alias for alias, text in self._texts if wanted in text), None)


def _telling(items: Sequence[Item], fact: Fact) -> Item | None:
    fitting = (item for item in items if not item.resolved and (item.list == "completed") == (fact.list == "completed"))
    return next((item for item in fitting if mentions(item.text, fact.needs)), None)


def _leads_to(old: Fact, new: Fact) -> bool:
    after = old.successor
    while after is not None and after is not new:
        after = after.successor
    return after is new


def _flat(text: str) -> str:
    """As far as escaping and the form of a list may have changed it."""
    plain = text.replace('\\"', '"').replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return " ".join(re.sub(r"^[-* ]+", "", plain).split())
