"""README.md and docs say what the program does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from dagentd.events import EventType
from dagentd.model.agx import keys
from dagentd.model.ids import AgentType, TaskState
from tests.readme import DIFFERENCES, FORMATS, PAGES, README, current


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_is_made_from_the_code_is_current(page: Path) -> None:
    assert page.read_text(encoding="utf-8") == current(page), "run `python -m tests.readme`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", page.read_text(encoding="utf-8")):
        path, _, anchor = target.partition("#")
        assert (page.parent / path).is_file(), target
        assert not anchor or f"\n## {anchor}\n" in (page.parent / path).read_text(encoding="utf-8"), target


def test_each_page_can_be_reached() -> None:
    text = README.read_text(encoding="utf-8")
    assert [page.name for page in README.parent.glob("docs/*.md") if f"(docs/{page.name})" not in text] == []


def test_each_event_is_named() -> None:
    text = README.read_text(encoding="utf-8")
    assert [name for name in get_args(EventType) if f"`{name}`" not in text] == []


def test_each_agent_type_state_and_field_of_metadata_is_named() -> None:
    text = FORMATS.read_text(encoding="utf-8").split("## Session ids\n")[1]
    metadata = (
        "agentType", "agentId", "taskId", "featureId", "iteration", "toolUse", "tokens", "internal",
        "verificationResults", "migratedFrom", "originalTimestamp", "originalType", "media", "content",
    )  # fmt: skip
    named = (*get_args(AgentType), *get_args(TaskState), *metadata)
    assert [name for name in named if f"`{name}`" not in text] == []


def test_each_seed_document_has_its_differences_told() -> None:
    parts = re.split(r"^## ", DIFFERENCES.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    told = {part.split("\n")[0]: part.count("\n- ") for part in parts}
    assert set(told) == {
        "file-structure", "session-architecture", "session-checkpoint-architecture", "conversation-architecture",
        "agx-storage-format",
    }  # fmt: skip
    assert min(told.values()) >= 5


def test_each_setting_of_agx_that_is_only_kept_is_named() -> None:
    text = DIFFERENCES.read_text(encoding="utf-8").split("These settings are only kept")[1]
    every = {**keys.GLOBAL, **keys.PROJECT}
    kept = {key for key, each in every.items() if each.only_kept}
    assert set(re.findall(r"`(\w+\.\w+)`", text)) & set(every) == kept
