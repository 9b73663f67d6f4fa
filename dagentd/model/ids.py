"""Ids: how session ids are made, and the check that every id passes before it becomes a path; the words for kinds of
agents, sessions and states."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Callable
from typing import Any, Literal, get_args

from dagentd.errors import InvalidInput
from dagentd.model import jsontext

AgentType = Literal["pm", "dev", "qa", "harness", "merge", "feature", "project"]
TaskState = Literal["planning", "in_dev", "dev_complete", "in_qa", "qa_complete", "ready_for_merge", "merged"]
SessionType = Literal["feature", "task"]
AgxState = Literal["created", "active", "paused", "completed", "archived"]
By = Literal["user", "agent"]  # who remembers

_PATH_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}", re.ASCII)
# As other agents name conversations; a session of ours may well be called claude-something.
_FOLLOWED = re.compile(r"[a-z]+-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:\.[A-Za-z0-9_-]+)?")


def is_safe(text: object) -> bool:
    return isinstance(text, str) and _PATH_SAFE.fullmatch(text) is not None and ".." not in text


def checked(text: str, what: str = "session id") -> str:
    """The id itself, or an error: an id is part of a file name."""
    if not is_safe(text):
        raise InvalidInput(
            f"{_shown(text)} cannot be a {what}",
            hint="Use 1 to 200 of A-Z a-z 0-9 . _ - starting with a letter or digit, without '..'.",
        )
    return text


def is_followed(session_id: object) -> bool:
    """Whether it is a conversation of another agent."""
    return isinstance(session_id, str) and _FOLLOWED.fullmatch(session_id) is not None


def feature_session(agent: str, feature: str) -> str:
    return checked(f"{one_of(agent, AgentType, 'agentType')}-feature-{checked(feature, 'feature id')}")


def task_session(agent: str, feature: str, task: str, state: str) -> str:
    agent = one_of(agent, AgentType, "agentType")
    state = one_of(state, TaskState, "taskState")
    return checked(f"{agent}-task-{checked(feature, 'feature id')}-{checked(task, 'task id')}-{state}")


def usual_state(agent: str) -> str:
    """Of a task while an agent of this type works on it. The harness has none of its own: most of its talk about a task
    is while that is in development."""
    planning = dict.fromkeys(("pm", "feature", "project"), "planning")
    return {**planning, "qa": "in_qa", "merge": "ready_for_merge"}.get(agent, "in_dev")


def one_of(value: str, choices: Any, name: str) -> str:
    allowed = get_args(choices)
    if value not in allowed:
        raise InvalidInput(f"{name} is {_shown(value)}", hint=f"Use one of: {', '.join(allowed)}.")
    return value


def _shown(text: object) -> str:
    return ascii(text if len(str(text)) <= 60 else f"{str(text)[:57]}...")


def derived(source: str, role: Any, timestamp: Any, content: Any, ordinal: int) -> str:
    """The id of an entry that has none: the same each time that entry is read."""
    parts = jsontext.encode([source, role, timestamp, content, ordinal])
    return "x-" + hashlib.sha256(parts).hexdigest()[:32]


class Naming:
    """Ids for the entries of one source, in their order. Those that have none are told apart by their number among
    equal ones, leaving out the numbers of those that got theirs from us the last time, and those `of_others`."""

    def __init__(self, source: str, of_others: Callable[[str], bool] = lambda _: False) -> None:
        self._source, self._of_others = source, of_others
        self._next: dict[str, int] = {}
        self._given: set[str] = set()

    def id_of(self, given: Any, role: Any, timestamp: Any, content: Any) -> str:
        if isinstance(given, str) and given != "":
            self._given.add(given)
            return given
        first = derived(self._source, role, timestamp, content, 0)
        for ordinal in itertools.count(self._next.get(first, 0)):
            found = derived(self._source, role, timestamp, content, ordinal) if ordinal else first
            if found not in self._given and not self._of_others(found):
                self._next[first] = ordinal + 1
                return found
        raise AssertionError("unreachable")


def clashing(message_id: str, content: bytes) -> str:
    """The id of another message that came under an id which is taken."""
    return f"{message_id}~{hashlib.sha256(content).hexdigest()[:8]}"
