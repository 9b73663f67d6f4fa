"""A session that talks, and a model on this machine that is asked to compact it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dagentd.adapters.models import Answer, CallFailed, Kind, Question
from dagentd.jobs.compaction import Compactor, How
from dagentd.jobs.compaction.asking import Backend
from dagentd.settings import Settings
from dagentd.store.ledger import Ledger
from dagentd.store.sessions.session import Session
from tests.messages_api import MESSAGES, MessagesApi, Reply, Seen, said

TALK = (
    ("user", "Let's use PostgreSQL 16 for storage."),
    ("assistant", "Good. I created src/db/pool.py for that."),
    ("user", "The API must answer within 200 ms."),
    ("assistant", "Noted."),
)


class Conversing:
    """`again` forgets what only a process knows, as a restart does."""

    def __init__(self, session: Session, api: MessagesApi, ledger: Path, **compaction: Any) -> None:
        self.session, self.api, self._ledger = session, api, ledger
        given = {"base_url": api.url, "backend": "anthropic", "keep_recent_tokens": 0, **compaction}
        self.settings = with_compaction(Settings(), **given)
        self.again()

    def again(self) -> None:
        self.compactor = Compactor(Ledger(self._ledger))

    def talk(self, talk: Sequence[tuple[str, Any]] = TALK) -> list[str]:
        """The ids of what was said."""
        return [str(one["id"]) for one in self.session.add([{"role": role, "content": text} for role, text in talk])]

    def compact(self, **how: Any) -> dict[str, Any]:
        return self.compactor.compact(self.session, self.settings, How(**how))

    def ledger(self, kind: str) -> list[dict[str, Any]]:
        lines = self._ledger.read_text().splitlines() if self._ledger.exists() else []
        return [record for record in map(json.loads, lines) if record["t"] == kind]

    @property
    def decisions(self) -> list[str]:
        checkpoint = self.session.checkpoint()
        assert checkpoint is not None
        return list(checkpoint["summary"]["decisions"])

    def documents(self) -> dict[str, bytes]:
        self.session.reconcile()
        names = ("session", "chat", "checkpoint", "context", "agent-description")
        found = {name: self.session.folder.document(name) for name in names}
        return {name: path.read_bytes() for name, path in found.items() if path.exists()}


def with_compaction(settings: Settings, **changes: Any) -> Settings:
    return replace(settings, compaction=replace(settings.compaction, **changes))


def with_budget(settings: Settings, **changes: Any) -> Settings:
    return replace(settings, budget=replace(settings.budget, **changes))


def answering(*operations: dict[str, Any], **usage: Any) -> Reply:
    return said(json.dumps({"operations": operations}), **usage)


def asked(body: Any) -> str:
    """All that was sent, as text."""
    (message,) = body["messages"]
    return "\n".join([body["system"], *(block["text"] for block in message["content"])])


def names(body: Any) -> list[str]:
    """Of the messages that were sent."""
    return re.findall(r"^(m\d+) \w+:", asked(body), re.MULTILINE)


def directly(api: MessagesApi) -> Backend:
    """The same script, asked without a process and a connection between: for tests of what is made of the answers."""

    def ask(question: Question) -> Answer:
        blocks = [{"type": "text", "text": text} for text in (question.stable, question.prompt) if text]
        said = [{"role": "user", "content": blocks}]
        body = {"model": question.model, "system": question.system, "messages": said}
        reply = api.answer(Seen("POST", MESSAGES, {}, body))
        if reply.status != 200:
            raise CallFailed(_KINDS.get(reply.status, "server"), f"{reply.status}", retry_after=_seconds(reply))
        told = json.loads(reply.body)
        return Answer(told["content"][0]["text"], told["usage"]["input_tokens"], told["usage"]["output_tokens"])

    return Backend("anthropic", ask)


_KINDS: dict[int, Kind] = {400: "too long", 404: "model", 413: "too long", 429: "rate", 529: "overloaded"}


def _seconds(reply: Reply) -> float | None:
    return float(reply.headers["retry-after"]) if "retry-after" in reply.headers else None


def add(text: str, *sources: str, to: str = "decisions") -> dict[str, Any]:
    return {"op": "add", "list": to, "text": text, "sources": list(sources)}


GOOD = (
    add("PostgreSQL 16 is used for storage", "m1"),
    add("src/db/pool.py was created", "m2", to="completed"),
    add("The API must answer within 200 ms", "m3"),
)
