"""The Ralph Loop in a checkpoint: the latest word on each check, and never too long for a request."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dagentd.model.compaction.ralph import ralph_loop
from dagentd.model.compaction.turns import Turn, turn
from tests.model.compaction.checkpoints_of import JSON


def reported(iteration: Any, **checks: Any) -> Turn:
    results = [{"name": name, "passed": not error, "error": error} for name, error in checks.items()]
    return turn({"id": "m", "metadata": {"iteration": iteration, "verificationResults": results}})


def test_the_latest_word_on_each_check_counts_and_the_plan_before_messages() -> None:
    told = [reported(1, build="", lint="E501"), reported(2, lint="", test="2 failed")]
    plan = {"iteration": 3, "checklist": [{"id": "1", "description": "docs", "status": "failed", "error": "none yet"}]}
    assert ralph_loop(None, told, plan) == {
        "currentIteration": 3, "passedChecks": ["build", "lint"], "failedChecks": ["test", "docs"],
        "lastError": "none yet",
    }  # fmt: skip


def test_it_goes_on_from_the_loop_before_and_keeps_what_others_wrote_there() -> None:
    before = {"currentIteration": 7, "passedChecks": ["build"], "failedChecks": ["lint"], "lastError": "x", "theirs": 1}
    found = ralph_loop(before, [reported(2, lint="")], None)
    assert found == {**before, "passedChecks": ["build", "lint"], "failedChecks": []}


def test_where_there_is_no_loop_there_is_none_afterwards() -> None:
    assert ralph_loop(None, [turn({"id": "m", "content": "x"})], {"goal": "x"}) is None


def test_it_stays_short_over_any_number_of_iterations() -> None:
    loop: dict[str, Any] | None = None
    for number in range(300):
        loop = ralph_loop(loop, [reported(number, **{f"run {number}": "x" * 10_000 if number % 2 else ""})], None)
    assert loop is not None and loop["currentIteration"] == 299
    assert (loop["passedChecks"][-1], loop["failedChecks"][-1]) == ("run 298", "run 299")
    assert len(json.dumps(loop)) < 3_000
    long = ralph_loop(None, [reported(1, **{"y" * 2_000_000: "x" * 2_000_000})], None)
    assert len(json.dumps(long)) < 3_000


@given(JSON, JSON, st.dictionaries(st.sampled_from(["iteration", "checklist"]), JSON))
def test_no_loop_message_or_plan_is_too_strange(before: Any, metadata: Any, plan: dict[str, Any]) -> None:
    told = turn({"id": "m", "metadata": {"verificationResults": metadata, "iteration": metadata}})
    found = ralph_loop(before, [told], plan)
    assert found is None or found["currentIteration"] >= 0


def test_a_check_is_called_by_the_id_that_the_plan_gives_it() -> None:
    checks = [
        {"id": "build", "description": "Build passes", "status": "pass"},
        {"id": "test", "description": "Tests pass", "status": "fail"},
        {"id": "3", "description": "docs", "status": "pass"},
    ]
    before = {"currentIteration": 1, "passedChecks": ["Tests pass", "lint"], "failedChecks": ["Build passes"]}
    found = ralph_loop(before, [reported(2, **{"Build passes": "E1"})], {"checklist": checks})
    assert found is not None
    assert (found["passedChecks"], found["failedChecks"]) == (["lint", "build", "docs"], ["test"])
