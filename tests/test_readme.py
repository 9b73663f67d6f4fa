"""README.md says what the program does."""

from __future__ import annotations

from typing import get_args

from dagentd.events import EventType
from dagentd.model.ids import AgentType, TaskState
from tests.readme import README, current


def test_what_is_made_from_the_code_is_current() -> None:
    assert README.read_text(encoding="utf-8") == current(), "run `python -m tests.readme`"


def test_each_event_is_named() -> None:
    text = README.read_text(encoding="utf-8")
    assert [name for name in get_args(EventType) if f"`{name}`" not in text] == []


def test_each_agent_type_state_and_field_of_metadata_is_named() -> None:
    text = README.read_text(encoding="utf-8").split("### Session ids\n")[-1].split("\n## ")[0]
    metadata = (
        "agentType", "agentId", "taskId", "featureId", "iteration", "toolUse", "tokens", "internal",
        "verificationResults", "migratedFrom", "originalTimestamp", "originalType", "media", "content",
    )  # fmt: skip
    named = (*get_args(AgentType), *get_args(TaskState), *metadata)
    assert [name for name in named if f"`{name}`" not in text] == []


def test_each_seed_document_has_its_differences_told() -> None:
    text = README.read_text(encoding="utf-8").split("### Where dagentd differs from the documents\n")[-1]
    names = ("file-structure", "session-architecture", "session-checkpoint-architecture", "conversation-architecture")
    assert [name for name in names if f"**{name}**" not in text.split("\n## ")[0]] == []
