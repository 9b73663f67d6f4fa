"""README.md and docs say what the program does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import click
import pytest

from dagentd import events
from dagentd.agx import configuration
from dagentd.cli.manual import every_command
from dagentd.model.ids import AgentType, TaskState
from dagentd.rpc import protocol
from tests.readme import COMMANDS, CONTRIBUTING, DIFFERENCES, DOCS, FORMATS, PAGES, README, SOCKET, current
from tests.test_architecture import RANKS

CHANGES = ("A legacy format", "A method", "A watched file", "A model's provider", "A command")


def text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_is_made_from_the_code_is_current(page: Path) -> None:
    assert text(page) == current(page), "run `python -m tests.readme`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text(page)):
        path, _, anchor = target.partition("#")
        assert not path or (page.parent / path).is_file(), target
        assert not anchor or anchor in anchors((page.parent / path) if path else page), target


def anchors(page: Path) -> set[str]:
    """Those that a forge makes of headings."""
    headings = re.findall(r"^##+ (.+)$", text(page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_each_page_can_be_reached() -> None:
    assert [page.name for page in DOCS.glob("*.md") if f"(docs/{page.name})" not in text(README)] == []


def test_readme_is_for_a_person() -> None:
    assert len(text(README).splitlines()) <= 250


def test_each_mention_of_a_command_is_one() -> None:
    """`dagentd …` in the text: the command is there and knows the options that are named."""
    spans = re.findall(r"`(dagentd [a-z][^`\n]*)`", "".join(text(page) for page in PAGES if page != COMMANDS))
    mentioned = {each.strip().removeprefix("dagentd ") for span in spans for each in span.split(";")}
    assert len(mentioned) > 30
    options = {name: set(_options(ctx.command)) for name, ctx in every_command()}
    assert [each for each in sorted(mentioned) if not _known(each.split(), options)] == []


def _options(command: click.Command) -> list[str]:
    return [option for each in command.params for option in (*each.opts, *each.secondary_opts)]


def _known(words: list[str], options: dict[str, set[str]]) -> bool:
    names = [word for word in words if re.fullmatch(r"[a-z]+", word)]
    found = next((name for end in (2, 1) if (name := " ".join(names[:end])) in options), None)
    return found is not None and {word for word in words if word.startswith("--")} <= options[found] | {"--help"}


def test_each_limit_is_told() -> None:
    limits = {
        "16 MiB": protocol.MAX_LINE >> 20, "1 000 requests": protocol.MAX_BATCH, "256 characters": protocol.MAX_ID,
        "4 000 events": events.MAX_EVENTS, "1 MiB of them": events.MAX_BYTES >> 20, "128 deep": protocol.MAX_DEPTH,
        "1 000 subscriptions": events.MAX_SUBSCRIPTIONS,
    }  # fmt: skip
    told = text(SOCKET)
    assert [
        each for each, limit in limits.items() if each not in told or not each.replace(" ", "").startswith(str(limit))
    ] == []


def test_each_agent_type_state_and_field_of_metadata_is_named() -> None:
    told = text(FORMATS).split("## Session ids\n")[1]
    metadata = (
        "agentType", "agentId", "taskId", "featureId", "iteration", "toolUse", "tokens", "internal",
        "verificationResults", "migratedFrom", "originalTimestamp", "originalType", "media", "content",
    )  # fmt: skip
    named = (*get_args(AgentType), *get_args(TaskState), *metadata)
    assert [name for name in named if f"`{name}`" not in told] == []


def test_each_seed_document_has_its_differences_told() -> None:
    parts = re.split(r"^## ", text(DIFFERENCES), flags=re.MULTILINE)[1:]
    told = {part.split("\n")[0]: part.count("\n- ") for part in parts}
    assert set(told) == {
        "file-structure", "session-architecture", "session-checkpoint-architecture", "conversation-architecture",
        "agx-storage-format",
    }  # fmt: skip
    assert min(told.values()) >= 5


def test_each_setting_of_agx_that_is_only_kept_is_named() -> None:
    told = text(DIFFERENCES).split("These settings are only kept")[1]
    every = {**configuration.GLOBAL, **configuration.PROJECT}
    kept = {key for key, each in every.items() if each.only_kept}
    assert set(re.findall(r"`(\w+\.\w+)`", told)) & set(every) == kept


# --- docs/contributing.md -----------------------------------------------------------------------------------


@pytest.mark.parametrize("change", CHANGES)
def test_a_usual_change_has_at_most_four_files(change: str) -> None:
    told = text(CONTRIBUTING).split(f"\n### {change}\n")[1].split("\n### ")[0]
    rows = re.findall(r"^\| `([^`]+)`", told, re.MULTILINE)
    assert 1 <= len(rows) <= 4


def test_imports_point_as_it_says() -> None:
    (line,) = re.findall(r"^cli → .+$", text(CONTRIBUTING), re.MULTILINE)
    ranks = [{RANKS[part] for part in step.split(", ")} for step in line.split(" → ")]
    assert all(len(each) == 1 for each in ranks)
    told = [min(each) for each in ranks]
    assert told == sorted(set(told), reverse=True)


def test_each_file_that_is_named_is_there() -> None:
    """But for those that a change makes, which have a name in capitals; a path may begin within `dagentd`."""
    named = re.findall(r"`([\w./-]+/[\w./-]*|\w+\.py)`", text(CONTRIBUTING))
    paths = {name for name in named if not re.search(r"[A-Z]{2}", name) and not name.startswith(".")}
    assert len(paths) > 20
    assert [name for name in sorted(paths) if not any(_there(name))] == []


def _there(name: str) -> Iterator[bool]:
    top = README.parent
    yield from ((top / name).exists(), (top / "dagentd" / name).exists())
    yield "/" not in name and next((top / "dagentd").rglob(name), None) is not None
