"""The Ralph Loop of a task: how far its iterations are, from what messages report and from plan.json."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dagentd.model.compaction.checkpoints import number
from dagentd.model.compaction.items import list_of, object_of
from dagentd.model.compaction.turns import Turn
from dagentd.model.redaction import redacted

# plan.json, a task's execution plan: how far its loop is, and what fails in it.

PASSED, FAILED = ("passed", "pass", "completed", "done", "verified"), ("failed", "fail", "error")
_MOST = 40  # items that fail
_LONGEST = 500  # characters of a name or an error: all of this is in every request


def plan_progress(plan: Mapping[str, Any]) -> dict[str, Any] | None:
    """The progress that a developer needs to know before each iteration; None if the plan says nothing of it."""
    failing = [_told(one, "id", "description", "error") for one in _checklist(plan) if one.get("status") in FAILED]
    found = _told(plan, "iteration", "maxIterations", "status") | {"failing": list(filter(None, failing))[:_MOST]}
    return {name: value for name, value in found.items() if value not in ("", [])} or None


def _told(raw: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Texts without secrets, like all that an agent is told of others' output, and numbers."""
    texts = {name: redacted(raw[name])[:_LONGEST] for name in names if isinstance(raw.get(name), str) and raw[name]}
    return {name: texts.get(name, raw.get(name)) for name in names if name in texts or type(raw.get(name)) is int}


def ralph_loop(before: Any, turns: Sequence[Turn], plan: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The latest word on each check counts, and plan.json before messages; None if there is no sign of a loop."""
    known, ids = object_of(before), _ids(plan)
    states: dict[str, bool] = {ids.get(name, name): True for name in _names(known.get("passedChecks"))}
    states |= {ids.get(name, name): False for name in _names(known.get("failedChecks"))}
    error = known["lastError"] if isinstance(known.get("lastError"), str) else ""
    for check in (check for turn in turns for check in turn.checks):
        _tell(states, ids.get(check.name, check.name), check.passed)
        error = check.error or error
    for name, passed, told in _listed(plan):
        _tell(states, name, passed)
        error = told or error
    iteration = max([number(known.get("currentIteration")), *(turn.iteration or 0 for turn in turns),
                     number((plan or {}).get("iteration"))])  # fmt: skip
    if not states and not iteration:
        return None
    good, bad = ([name for name, ok in states.items() if ok is wanted][-_MOST:] for wanted in (True, False))
    loop = {"currentIteration": iteration, "passedChecks": good, "failedChecks": bad}
    return {**known, **loop, **({"lastError": error[:_LONGEST]} if error else {})}


def _tell(states: dict[str, bool], name: str, passed: bool) -> None:
    """The latest is last."""
    states.pop(name[:_LONGEST], None)
    states[name[:_LONGEST]] = passed


def _listed(plan: Mapping[str, Any] | None) -> Iterator[tuple[str, bool, str]]:
    for entry in _checklist(plan):
        if entry.get("status") in (*PASSED, *FAILED):
            name, error = _id(entry) or entry.get("description") or entry.get("id"), entry.get("error")
            if isinstance(name, str):
                yield name, entry["status"] in PASSED, error if isinstance(error, str) else ""


def _ids(plan: Mapping[str, Any] | None) -> dict[str, str]:
    """By its description, the id of each check: messages, and loops before this one, may call it by the other."""
    named = ((entry.get("description"), _id(entry)) for entry in _checklist(plan))
    return {told: one for told, one in named if isinstance(told, str) and one}


def _id(entry: dict[str, Any]) -> str | None:
    """`build`, `lint`, `test`; a mere number says nothing."""
    given = entry.get("id")
    return given if isinstance(given, str) and any(map(str.isalpha, given)) else None


def _checklist(plan: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    return [entry for entry in list_of((plan or {}).get("checklist")) if isinstance(entry, dict)]


def _names(value: Any) -> list[str]:
    return [one[:_LONGEST] for one in list_of(value) if isinstance(one, str)]
