"""Puts messages one after the other, as the desktop app stores them, with tools in each of the forms there are."""

from __future__ import annotations

import random
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

Message = dict[str, Any]
Form = Literal["blocks", "metadata", "internal"]
FORMS: tuple[Form, ...] = ("blocks", "metadata", "internal")
_START = datetime(2026, 10, 5, 8, 30, tzinfo=UTC)


class Writer:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.messages: list[Message] = []
        self._now = _START
        self._iteration = 0

    def user(self, content: Any, **metadata: Any) -> Message:
        return self._add("user", content, metadata)

    def assistant(self, content: Any, **metadata: Any) -> Message:
        return self._add("assistant", content, {"agentType": "dev"} | metadata)

    def tool(self, name: str, given: dict[str, Any], result: str, *, form: Form, failed: bool = False) -> Message:
        """The message that holds the result."""
        said = self.rng.choice(("Let me check.", "Looking at it now.", "One moment.", f"Running {name}.", ""))
        if form == "blocks":
            used = f"toolu_{self.rng.getrandbits(64):016x}"
            call = {"type": "tool_use", "id": used, "name": name, "input": given}
            self.assistant([{"type": "text", "text": said}, call] if said else [call])
            block: Message = {"type": "tool_result", "tool_use_id": used, "content": result}
            return self.user([block | ({"is_error": True} if failed else {})])
        use: Message = {"name": name, "input": given, "result": result}
        if failed:
            use = use | {"isError": True} if self.rng.random() < 0.7 else use | {"result": _process(result)}
        hidden = {"internal": True} if form == "internal" else {}
        return self.assistant(said or f"Used {name}.", toolUse=use, **hidden)

    def verified(self, results: Any, said: str) -> Message:
        """One turn of the Ralph Loop: what is still to be done, and what the checks say."""
        self._iteration += 1
        turn = {"internal": True, "iteration": self._iteration}
        self.user(f"Iteration {self._iteration}: continue with the open checks.", **turn)
        return self.assistant(said, verificationResults=results, **turn)

    def _add(self, role: str, content: Any, metadata: dict[str, Any]) -> Message:
        self._now += timedelta(seconds=self.rng.randint(4, 240))
        stamp = self._now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        message: Message = {"id": str(uuid.UUID(int=self.rng.getrandbits(128))), "role": role, "content": content}
        message |= {"timestamp": stamp} | ({"metadata": metadata} if metadata else {})
        self.messages.append(message)
        return message


def _process(output: str) -> dict[str, Any]:
    return {"exitCode": 1, "stderr": output}
