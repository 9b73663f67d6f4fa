"""A message that somebody wants to add: checked, given what it lacks, and serialised once."""

from __future__ import annotations

import os
import random
import uuid
from typing import Any

from dagentd.adapters import clock
from dagentd.errors import InvalidInput, LimitReached
from dagentd.model import conversation, jsontext

ROLES = ("user", "assistant", "system")
MESSAGE_LIMIT = 16 << 20  # a line on the socket carries no more

# Seeded by the system once: uuid4 asks it each time and lets go of the interpreter meanwhile, which costs 64
# threads more than writing their messages does.
_random = random.Random()
os.register_at_fork(after_in_child=_random.seed)


class NewMessage:
    """A message to be added. `given`: the caller named its id, so it may be known already."""

    def __init__(self, raw: dict[str, Any], given: bool) -> None:
        self.raw = raw
        self.line = jsontext.encode(raw)
        self.given = given
        if len(self.line) > MESSAGE_LIMIT:
            raise LimitReached(f"a message has at most {MESSAGE_LIMIT >> 20} MiB", hint="Split it, or store a path.")


def new_message(raw: dict[str, Any]) -> NewMessage:
    role, given = raw.get("role"), raw.get("id")
    if role not in ROLES:
        raise InvalidInput(f"role is {role!a}", hint=f"Use one of: {', '.join(ROLES)}.")
    if jsontext.too_deep(raw):
        raise InvalidInput("a message is nested too deeply", hint="Store the inner part as a text.")
    if "content" not in raw:
        raise InvalidInput("a message needs content", hint='Give "content".')
    if given is not None and (not isinstance(given, str) or not 0 < len(given) <= 200):
        raise InvalidInput("a message id is a text of 1 to 200 characters", hint="Leave `id` out to get one.")
    head = {"id": given or _new_id(), "role": role, "content": raw["content"], "timestamp": clock.stamp()}
    rest = {key: value for key, value in raw.items() if key not in head and value is not None}
    return NewMessage(conversation.with_text(head | rest), given is not None)


def _new_id() -> str:
    return str(uuid.UUID(int=_random.getrandbits(128), version=4))
