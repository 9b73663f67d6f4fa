"""Requests from real sessions: who sees whose decisions, and what happens with odd documents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from dagentd.adapters.git import project_at
from dagentd.errors import CorruptFile, LimitReached
from dagentd.jobs import requests
from dagentd.jobs.scales import Scales
from dagentd.model import conversation
from dagentd.settings import Settings
from dagentd.store.journal.index import Index
from dagentd.store.sessions.session import Session
from dagentd.store.store import Store
from tests.conftest import SampleProject

FORMS: tuple[requests.Form, ...] = ("system", "messages")


def built(*given: Any, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(requests.build(*given, **more).data)
    return found


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
    dev = store.maker.get_or_create("task", "dev", project.feature, "task-1", "in_dev")
    _decide(dev, "Tokens stay on the server")
    qa = store.maker.get_or_create("task", "qa", project.feature, "task-1", "in_qa")
    _decide(qa, "Test with two users")
    return qa


def test_a_reviewer_sees_the_decisions_of_the_developer(store: Store, qa: Session) -> None:
    prompt = built(store, qa, "Review it", Settings())["systemPrompt"]
    assert prompt.index("Test with two users") < prompt.index("Tokens stay on the server")


def test_unless_the_settings_say_no(store: Store, qa: Session) -> None:
    settings = Settings()
    settings = replace(settings, request=replace(settings.request, share_checkpoints=False))
    assert "Tokens stay on the server" not in built(store, qa, "Review it", settings)["systemPrompt"]


def test_equal_input_gives_equal_output(store: Store, qa: Session) -> None:
    blocks = [{"type": "text", "text": "Ok"}]
    qa.add([{"role": "user", "content": "Look \ud83d"}, {"role": "assistant", "content": blocks}])
    first = requests.preview(store, qa, "Go", Settings())
    assert json.dumps(requests.preview(store, qa, "Go", Settings())) == json.dumps(first)


def test_a_new_message_only_appends_to_what_was_sent_before(store: Store, qa: Session) -> None:
    qa.add([{"role": "user", "content": "One"}])
    before = built(store, qa, "Go", Settings())
    qa.add([{"role": "assistant", "content": "Two"}])
    after = built(store, qa, "Go", Settings())
    assert after["preamble"] == before["preamble"]
    assert after["messages"][: len(before["messages"]) - 1] == before["messages"][:-1]


def test_the_conversation_is_sent_in_the_form_that_was_asked_for(store: Store, qa: Session) -> None:
    qa.add([{"role": "user", "content": "One"}])
    both = built(store, qa, "Go", Settings())
    system, messages = (built(store, qa, "Go", Settings(), form=form) for form in FORMS)
    assert system.keys() == both.keys() - {"messages", "preamble"} and messages.keys() == both.keys() - {"systemPrompt"}
    assert both == system | messages


def test_a_system_message_is_not_in_a_users_turn(store: Store, qa: Session) -> None:
    qa.add([{"role": "user", "content": "One"}, {"role": "system", "content": "The build is red."}])
    made = built(store, qa, "Go", Settings())
    assert all("The build is red." not in json.dumps(turn) for turn in made["messages"])
    assert "The build is red." in made["preamble"]


def test_a_message_is_read_once_and_again_when_it_was_edited(
    store: Store, qa: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    qa.add([{"role": "user", "content": "One"}, {"role": "assistant", "content": "Two"}])
    built(store, qa, "Go", Settings())
    qa.add([{"role": "user", "content": "Three"}])
    made, said = list[object](), conversation.said

    def noted(raw: dict[str, Any], tokens: int | None) -> conversation.Said | None:
        made.append(raw["content"])
        return said(raw, tokens)

    monkeypatch.setattr(conversation, "said", noted)
    assert "Three" in built(store, qa, "Go", Settings())["systemPrompt"]
    assert made == ["Three"]
    path = qa.folder.document("chat")
    qa.reconcile()
    path.write_text(path.read_text().replace('"Two"', '"Two, or more"'))
    qa.reconcile()
    assert "Two, or more" in built(store, qa, "Go", Settings())["systemPrompt"]


def test_internal_messages_are_not_sent_but_count_for_the_trigger(store: Store, qa: Session) -> None:
    settings = Settings()
    settings = replace(settings, budget=replace(settings.budget, limit=2000, prompt_buffer=0))
    assert requests.preview(store, qa, "Go", settings)["breakdown"]["needsCompaction"] is False
    qa.add([{"role": "assistant", "content": "private " * 2000, "metadata": {"internal": True}}])
    built = requests.preview(store, qa, "Go", settings)
    assert "private" not in built["systemPrompt"]
    assert built["breakdown"]["needsCompaction"] is True


def test_a_session_weighs_what_its_request_does_without_a_prompt(store: Store, qa: Session) -> None:
    """Or one that is over the limit by what stands around its messages is served as if it were not."""
    qa.add([{"role": "user", "content": "Hello there"}])
    settings = replace(Settings(), request=replace(Settings().request, share_checkpoints=False))
    built = requests.preview(store, qa, "", settings)["breakdown"]
    assert Scales().parts(qa, settings).total == built["total"] > 0


def test_a_message_is_counted_once(store: Store, qa: Session) -> None:
    qa.add([{"role": "user", "content": "Hello there"}])
    asked: list[str] = []

    def count(text: str) -> int:
        asked.append(text)
        return len(text)

    assert qa.tokens(count) == qa.tokens(count) == len(conversation.message(qa.chat()[0]).piece)
    assert len(asked) == 1


def test_without_a_description_the_role_has_its_default(store: Store, qa: Session) -> None:
    qa.folder.document("agent-description").unlink()
    assert "review" in built(store, qa, "Go", Settings())["systemPrompt"].lower()


def test_a_damaged_context_is_named(store: Store, qa: Session) -> None:
    path = qa.folder.document("context")
    path.write_text('{"projectRoot": ')
    with pytest.raises(CorruptFile, match="is not valid JSON") as caught:
        built(store, qa, "Go", Settings())
    assert caught.value.path == str(path)


# --- over the limit -------------------------------------------------------------------------------------------


def test_a_request_over_the_limit_says_so_with_its_biggest_parts(store: Store, qa: Session) -> None:
    found = built(store, qa, "word " * 200_000, Settings())
    assert found["overLimit"] is True and found["totalTokens"] > 100_000
    assert found["parts"][0]["part"] == "userPrompt" and found["parts"][0]["tokens"] > 100_000
    sizes = [part["tokens"] for part in found["parts"]]
    assert sizes == sorted(sizes, reverse=True) and sum(sizes) == found["totalTokens"]


def test_parts_that_no_compaction_can_shrink_count_too(store: Store, qa: Session) -> None:
    qa.replace("agent-description", {"agentType": "qa", "roleInstructions": "rule " * 150_000, "createdAt": ""})
    built = requests.preview(store, qa, "Go", Settings())
    assert built["overLimit"] is True and built["parts"][0]["part"] == "agentDescription"


def test_strictly_it_is_an_error(store: Store, qa: Session) -> None:
    with pytest.raises(LimitReached, match=r"the request has \d+ tokens, and budget.limit is 100000: user prompt \d+"):
        built(store, qa, "word " * 200_000, Settings(), strict=True)


def test_one_within_the_limit_is_not_over_it(store: Store, qa: Session) -> None:
    assert "overLimit" not in built(store, qa, "Go", Settings(), strict=True)


def test_a_reviewer_sees_the_decisions_of_whatever_session_the_task_names(
    store: Store, qa: Session, project: SampleProject
) -> None:
    """A dev session with an id of another form, listed by task.json and active."""
    made = store.maker.get_or_create("task", "dev", project.feature, "task-1", "in_dev")
    made.archive()
    sessions, uuid = project.dagent / "sessions", "5f0c1a52-7c1b-4a53-9a0e-3a1c2b7d9e10"
    about = {
        "type": "task",
        "agentType": "dev",
        "featureId": project.feature,
        "taskId": "task-1",
        "taskState": "in_dev",
    }
    (sessions / f"session_{uuid}.json").write_text(json.dumps({"id": uuid, **about, "status": "active"}))
    summary = {"completed": [], "inProgress": [], "pending": [], "blockers": [], "decisions": ["Cookies are signed"]}
    (sessions / f"checkpoint_{uuid}.json").write_text(json.dumps({"version": 2, "summary": summary}))
    task = project.dagent / "nodes" / "task-1" / "task.json"
    raw = json.loads(task.read_text())
    raw["states"]["in_dev"]["sessionIds"].append(uuid)
    task.write_text(json.dumps(raw))
    assert "Cookies are signed" in built(store, qa, "Review it", Settings())["systemPrompt"]
