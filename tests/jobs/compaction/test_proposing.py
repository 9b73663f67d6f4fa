"""From a session to a proposal: what goes into the checkpoint beside the items, and what cannot be done."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from dagentd.jobs.compaction import How, described
from dagentd.jobs.compaction import proposal as proposing
from tests.jobs.compaction.conversing import (
    TALK,
    Conversing,
    add,
    answering,
    asked,
    names,
    with_budget,
    with_compaction,
)
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


def test_what_has_no_room_leaves_and_is_counted(conversing: Conversing) -> None:
    """Nothing is refused for it: what left is in history, and the line says so."""
    wanted = [f"Write the documentation of part {number}" for number in range(40)]
    conversing.session.update_checkpoint({"summary": {"pending": wanted}})
    conversing.talk()
    conversing.settings = with_compaction(conversing.settings, checkpoint_tokens=500)
    conversing.compact(seconds=0)
    checkpoint = conversing.session.checkpoint() or {}
    kept = [text for text in checkpoint["summary"]["pending"] if text in wanted]
    assert 0 < len(kept) < 40 and checkpoint["itemsLeft"] >= 40 - len(kept)
    assert f"{checkpoint['itemsLeft']} earlier items left" in checkpoint["summary"]["completed"][0]


def test_a_proposal_that_waits_holds_none_of_what_was_said(conversing: Conversing) -> None:
    """The daemon keeps some of them until they are applied: with two megabytes each that would be its memory."""
    ids = conversing.talk([("user", "We use tabs. " + "lorem ipsum " * 10_000)])
    proposal = conversing.compactor.propose(conversing.session, conversing.settings, How(seconds=0))
    assert proposal is not None and len(repr(proposal)) < 10_000
    conversing.compactor.apply(conversing.session, proposal)
    assert (conversing.session.chat(), [turn.id for turn in proposal.turns]) == ([], ids)


def test_a_start_is_told_with_its_end_also_if_there_is_nothing_to_compact(conversing: Conversing) -> None:
    told: list[tuple[str, object]] = []
    conversing.session.announce = lambda kind, **fields: told.append((kind, fields.get("messages_compacted")))  # type: ignore[method-assign]
    conversing.compact(seconds=0)
    assert told == [("session:compaction-start", None), ("session:compaction-complete", 0)]


@pytest.mark.usefixtures("direct")
def test_a_checkpoint_of_a_model_has_no_more_room_than_the_target_leaves(
    conversing: Conversing, api: MessagesApi
) -> None:
    """Else it would be compacted again a few messages later."""
    conversing.settings = with_budget(conversing.settings, limit=4000, prompt_buffer=100)
    talk = "We talked about the weather and the colour of the sky for a good while. " * 4
    conversing.talk([*TALK, *(("assistant", f"{number}: {talk}") for number in range(40))])
    long = [add(f"{number}: {talk}".strip(), f"m{number + 5}", to="pending") for number in range(30)]
    api.always(answering(*long))
    done = conversing.compact()
    kept = conversing.compactor.scales.parts(conversing.session, conversing.settings)
    assert (done["method"], "remains" in done, kept.total <= 0.6 * 4000) == ("anthropic", False, True)


def test_what_is_still_over_budget_is_compacted_as_far_as_it_goes_and_told(conversing: Conversing) -> None:
    """Refusing left a session at 136 % of its budget, with no way out."""
    conversing.settings = with_budget(conversing.settings, limit=4000, prompt_buffer=100)
    context = conversing.session.folder.document("context")
    context.write_text(json.dumps({"projectRoot": "/p", "claudeMd": "Rules of this project. " * 800}))
    conversing.talk([("user", f"Look at part {number}. " * 20) for number in range(20)])
    done = conversing.compact(seconds=0)
    assert done["messagesCompacted"] == 20 and not conversing.session.chat()
    assert re.fullmatch(r"\d+ of 4000 tokens are left; the context has \d+ of them", done["remains"])


@pytest.mark.usefixtures("direct")
def test_a_preview_shows_what_changes_beside_what_is_there_now(conversing: Conversing, api: MessagesApi) -> None:
    """Of what came in one portion and was superseded in the next only the last is new."""
    words = "alpha beta gamma delta " * 2500
    conversing.talk([("user", f"Use port 80 then 443. {words}")] * 12)

    def answer(body: Any) -> Reply:
        item = re.search(r"^([0-9a-f]{8}): Use port 80", asked(body), re.MULTILINE)
        source = names(body)[0]
        other = {"op": "supersede", "item": item[1], "text": "Use port 443", "sources": [source]} if item else {}
        return answering(other or add("Use port 80", source))

    api.always(answer)
    proposal = conversing.compactor.propose(conversing.session, conversing.settings, How())
    shown = described(proposal)
    assert len(api.calls()) > 1 and proposal is not None
    texts = [each["text"] for each in shown["added"] if each["text"].startswith("Use port") and len(each["text"]) < 20]
    assert "Use port 443" in texts and not [each for each in shown["superseded"] if each["text"] == "Use port 443"]


def test_the_last_messages_stay_up_to_a_tenth_of_the_budget_unless_all_are_recent_and_somebody_asks(
    conversing: Conversing,
) -> None:
    conversing.settings = with_compaction(conversing.settings, keep_recent_tokens=4000)
    ids = conversing.talk([("user", f"Look at part {number}. " * 20) for number in range(10)])
    assert conversing.compact(seconds=0)["messagesCompacted"] == 0
    narrow = with_budget(conversing.settings, limit=5000)
    proposal = conversing.compactor.propose(conversing.session, narrow, How(seconds=0))
    assert proposal is not None
    leaving = [turn.id for turn in proposal.turns]
    assert 0 < len(leaving) < 10 and leaving == ids[: len(leaving)]
    assert conversing.compact(seconds=0, forced=True)["messagesCompacted"] == 10


def test_commits_that_git_has_of_that_time_are_told(conversing: Conversing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proposing, "commits_between", lambda *_: [("abc1234", f"Pool the rows, {SECRET}")])
    conversing.talk()
    conversing.compact(seconds=0)
    told = (conversing.session.checkpoint() or {})["summary"]["completed"]
    assert any(each.startswith("Commits: abc1234 Pool the rows, ") and SECRET not in each for each in told)
