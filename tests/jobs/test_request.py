"""Requests from real sessions: who sees whose decisions, and what happens with odd documents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from dagentd.adapters.git import project_at
from dagentd.errors import CorruptFile
from dagentd.jobs import request
from dagentd.model import conversation
from dagentd.settings import Settings
from dagentd.store.index import Index
from dagentd.store.session import Session
from dagentd.store.store import Store
from tests.conftest import SampleProject


@pytest.fixture
def store(project: SampleProject) -> Iterator[Store]:
    made = Store(project_at(project.root), Index(None), settle=0.01)
    yield made
    made.close()


def _decide(session: Session, decision: str) -> None:
    checkpoint = session.checkpoint() or {}
    session.update_checkpoint({"summary": {**checkpoint["summary"], "decisions": [decision]}})


@pytest.fixture
def qa(store: Store, project: SampleProject) -> Session:
    dev = store.get_or_create("task", "dev", project.feature, "task-1", "in_dev")
    _decide(dev, "Tokens stay on the server")
    qa = store.get_or_create("task", "qa", project.feature, "task-1", "in_qa")
    _decide(qa, "Test with two users")
    return qa


def test_a_reviewer_sees_the_decisions_of_the_developer(store: Store, qa: Session) -> None:
    prompt = request.build(store, qa, "Review it", Settings())["systemPrompt"]
    assert prompt.index("Test with two users") < prompt.index("Tokens stay on the server")


def test_unless_the_settings_say_no(store: Store, qa: Session) -> None:
    settings = Settings()
    settings = replace(settings, request=replace(settings.request, share_checkpoints=False))
    assert "Tokens stay on the server" not in request.build(store, qa, "Review it", settings)["systemPrompt"]


def test_equal_input_gives_equal_output(store: Store, qa: Session) -> None:
    blocks = [{"type": "text", "text": "Ok"}]
    qa.add([{"role": "user", "content": "Look \ud83d"}, {"role": "assistant", "content": blocks}])
    first = request.preview(store, qa, "Go", Settings())
    assert json.dumps(request.preview(store, qa, "Go", Settings())) == json.dumps(first)


def test_a_new_message_only_appends_to_what_was_sent_before(store: Store, qa: Session) -> None:
    qa.add([{"role": "user", "content": "One"}])
    before = request.build(store, qa, "Go", Settings())
    qa.add([{"role": "assistant", "content": "Two"}])
    after = request.build(store, qa, "Go", Settings())
    assert after["preamble"] == before["preamble"]
    assert after["messages"][: len(before["messages"]) - 1] == before["messages"][:-1]


def test_internal_messages_are_not_sent_but_count_for_the_trigger(store: Store, qa: Session) -> None:
    settings = Settings()
    settings = replace(settings, budget=replace(settings.budget, limit=2000, prompt_buffer=0))
    assert request.preview(store, qa, "Go", settings)["breakdown"]["needsCompaction"] is False
    qa.add([{"role": "assistant", "content": "private " * 2000, "metadata": {"internal": True}}])
    built = request.preview(store, qa, "Go", settings)
    assert "private" not in built["systemPrompt"]
    assert built["breakdown"]["needsCompaction"] is True


def test_a_message_is_counted_once(store: Store, qa: Session) -> None:
    qa.add([{"role": "user", "content": "Hello there"}])
    asked: list[str] = []

    def count(text: str) -> int:
        asked.append(text)
        return len(text)

    assert qa.tokens(count) == qa.tokens(count) == len(conversation.piece(qa.chat()[0]))
    assert len(asked) == 1


def test_without_a_description_the_role_has_its_default(store: Store, qa: Session) -> None:
    qa.folder.document("agent-description").unlink()
    assert "review" in request.build(store, qa, "Go", Settings())["systemPrompt"].lower()


def test_a_damaged_context_is_named(store: Store, qa: Session) -> None:
    path = qa.folder.document("context")
    path.write_text('{"projectRoot": ')
    with pytest.raises(CorruptFile, match="is not valid JSON") as caught:
        request.build(store, qa, "Go", Settings())
    assert caught.value.path == str(path)
