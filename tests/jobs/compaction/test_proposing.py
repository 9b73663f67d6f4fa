"""From a session to a proposal: what goes into the checkpoint beside the items, and what cannot be done."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from dagentd.errors import CompactionFailed
from dagentd.jobs.compaction import How
from dagentd.jobs.compaction.diff import described
from tests.jobs.compaction.conversing import TALK, Conversing, add, answering, with_budget, with_compaction
from tests.messages_api import MessagesApi, Reply

SECRET = "sk-ant-api03-AAAABBBBCCCCDDDDEEEEFFFF"


def test_the_plan_of_a_task_comes_into_the_checkpoint_without_its_secrets(conversing: Conversing) -> None:
    conversing.session.set(taskId="t1")
    folder = conversing.session.folder.feature.task_dir("t1")
    folder.mkdir(parents=True)
    checks = [{"description": "build", "status": "failed", "error": f"401 for {SECRET}"}]
    (folder / "plan.json").write_text(json.dumps({"iteration": 3, "checklist": checks}))
    conversing.talk()
    conversing.compact(seconds=0)
    checkpoint = conversing.session.checkpoint() or {}
    loop = checkpoint["ralphLoop"]
    assert (loop["currentIteration"], loop["failedChecks"]) == (3, ["build"])
    assert loop["lastError"].startswith("401 for ") and SECRET not in json.dumps(checkpoint)


def test_requests_that_are_too_many_for_the_checkpoint_are_told_with_what_to_do(conversing: Conversing) -> None:
    """They may not leave it, so nothing is changed; once there is room, all of it fits."""
    wanted = [f"Write the documentation of part {number}" for number in range(40)]
    conversing.session.update_checkpoint({"summary": {"pending": wanted}})
    conversing.talk()
    before, settings = conversing.documents(), conversing.settings
    conversing.settings = with_compaction(settings, checkpoint_tokens=500)
    with pytest.raises(CompactionFailed, match=r"has \d+ tokens, and compaction.checkpoint_tokens is 500") as caught:
        conversing.compact(seconds=0)
    assert "`pending`" in caught.value.hint and "checkpoint_" in caught.value.hint
    assert conversing.documents() == before
    conversing.settings = settings
    conversing.compact(seconds=0)
    assert (conversing.session.checkpoint() or {})["summary"]["pending"][:40] == wanted


def test_a_proposal_that_waits_holds_none_of_what_was_said(conversing: Conversing) -> None:
    """The daemon keeps some of them until they are applied: with two megabytes each that would be its memory."""
    ids = conversing.talk([("user", "We use tabs. " + "lorem ipsum " * 10_000)])
    proposal = conversing.compactor.propose(conversing.session, conversing.settings, How(seconds=0))
    assert proposal is not None and len(repr(proposal)) < 10_000
    conversing.compactor.apply(conversing.session, proposal)
    assert (conversing.session.chat(), proposal.ids) == ([], ids)


def test_a_start_is_told_with_its_end_also_if_there_is_nothing_to_compact(conversing: Conversing) -> None:
    told: list[tuple[str, object]] = []
    conversing.session.announce = lambda kind, **fields: told.append((kind, fields.get("messages_compacted")))  # type: ignore[method-assign]
    conversing.compact(seconds=0)
    assert told == [("session:compaction-start", None), ("session:compaction-complete", 0)]


@pytest.mark.usefixtures("direct")
def test_a_model_whose_checkpoint_leaves_it_over_the_target_is_not_followed(
    conversing: Conversing, api: MessagesApi
) -> None:
    """It would be compacted again a few messages later."""
    conversing.settings = with_budget(conversing.settings, limit=4000, prompt_buffer=100)
    talk = "We talked about the weather and the colour of the sky for a good while. " * 4
    conversing.talk([*TALK, *(("assistant", f"{number}: {talk}") for number in range(40))])
    long = [add(f"{number}: {talk}".strip(), f"m{number + 5}", to="pending") for number in range(30)]
    api.always(answering(*long))
    done = conversing.compact()
    assert (done["method"], "there are still" in done["note"]) == ("local", True)
    assert conversing.session.chat() == [] and not (conversing.session.checkpoint() or {})["summary"]["pending"]


@pytest.mark.usefixtures("direct")
def test_a_preview_shows_what_changes_beside_what_is_there_now(conversing: Conversing, api: MessagesApi) -> None:
    """Of what came in one portion and was superseded in the next only the last is new."""
    words = "alpha beta gamma delta " * 2500
    conversing.talk([("user", f"Use port 80 then 443. {words}")] * 12)

    def answer(body: Any) -> Reply:
        text = body["messages"][0]["content"]
        item = re.search(r'"id": "([0-9a-f]{8})", "list": "decisions", "text": "Use port 80"', text)
        source = re.findall(r'^{"id": "(m\d+)"', text, re.MULTILINE)[0]
        other = {"op": "supersede", "item": item[1], "text": "Use port 443", "sources": [source]} if item else {}
        return answering(other or add("Use port 80", source))

    api.always(answer)
    proposal = conversing.compactor.propose(conversing.session, conversing.settings, How())
    shown = described(proposal)
    assert len(api.calls()) > 1 and proposal is not None
    texts = [each["text"] for each in shown["added"] if each["text"].startswith("Use port") and len(each["text"]) < 20]
    assert "Use port 443" in texts and not [each for each in shown["superseded"] if each["text"] == "Use port 443"]
