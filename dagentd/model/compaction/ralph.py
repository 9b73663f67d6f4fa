"""The Ralph Loop of a task: how far its iterations are, from what messages report and from plan.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dagentd.model.compaction.turns import Turn
from dagentd.model.redaction import redacted

# plan.json, a task's execution plan: how far its loop is, and what fails in it.

PASSED, FAILED = ("passed", "pass", "completed", "done", "verified"), ("failed", "fail", "error")
_MOST = 40  # items that fail
_LONGEST = 500  # characters of a name or an error: all of this is in every request


def plan_progress(plan: Mapping[str, Any]) -> dict[str, Any] | None:
    """The progress that a developer needs to know before each iteration; None if the plan says nothing of it."""
    entries = plan.get("checklist")
    checks = [each for each in entries if isinstance(each, dict)] if isinstance(entries, list) else []
    failing = [_told(each, "id", "description", "error") for each in checks if each.get("status") in FAILED]
    found = {
        **_told(plan, "iteration", "maxIterations", "status"),
        "failing": [each for each in failing if each][:_MOST],
    }
    return {name: value for name, value in found.items() if value not in ("", [])} or None


def _told(raw: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Texts without secrets, like all that an agent is told of others' output, and numbers."""
    found = {name: raw.get(name) for name in names}
    texts = {name: redacted(value)[:_LONGEST] for name, value in found.items() if isinstance(value, str) and value}
    numbers = {name: value for name, value in found.items() if isinstance(value, int) and not isinstance(value, bool)}
    return {name: ({**texts, **numbers})[name] for name in names if name in texts or name in numbers}


def ralph_loop(before: Any, turns: Sequence[Turn], plan: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The latest word on each check counts, and plan.json, which the loop itself keeps, before messages. None if there
    is no sign of a loop."""
    known: Mapping[str, Any] = before if isinstance(before, Mapping) else {}
    ids = _ids(plan)
    states: dict[str, bool] = {ids.get(name, name): True for name in _names(known.get("passedChecks"))}
    states |= {ids.get(name, name): False for name in _names(known.get("failedChecks"))}
    error = known["lastError"] if isinstance(known.get("lastError"), str) else ""
    for check in (check for turn in turns for check in turn.checks):
        _tell(states, ids.get(check.name, check.name), check.passed)
        error = check.error or error
    for name, passed, told in _listed(plan):
        _tell(states, name, passed)
        error = told or error
    iteration = max([_number(known.get("currentIteration")), *(turn.iteration or 0 for turn in turns),
                     _number((plan or {}).get("iteration"))])  # fmt: skip
    if not states and not iteration:
        return None
    good, bad = ([name for name, ok in states.items() if ok is wanted][-_MOST:] for wanted in (True, False))
    loop = {"currentIteration": iteration, "passedChecks": good, "failedChecks": bad}
    return {**known, **loop, **({"lastError": error[:_LONGEST]} if error else {})}


def _tell(states: dict[str, bool], name: str, passed: bool) -> None:
    """The latest is last."""
    states.pop(name[:_LONGEST], None)
    states[name[:_LONGEST]] = passed


def _listed(plan: Mapping[str, Any] | None) -> list[tuple[str, bool, str]]:
    found = []
    for entry in _checklist(plan):
        if entry.get("status") in (*PASSED, *FAILED):
            name, error = _id(entry) or entry.get("description") or entry.get("id"), entry.get("error")
            if isinstance(name, str):
                found.append((name, entry["status"] in PASSED, error if isinstance(error, str) else ""))
    return found


def _ids(plan: Mapping[str, Any] | None) -> dict[str, str]:
    """By its description, the id of each check: messages, and loops before this one, may call it by the other."""
    named = ((entry.get("description"), _id(entry)) for entry in _checklist(plan))
    return {told: one for told, one in named if isinstance(told, str) and one}


def _id(entry: dict[str, Any]) -> str | None:
    """`build`, `lint`, `test`; a mere number says nothing."""
    given = entry.get("id")
    return given if isinstance(given, str) and any(map(str.isalpha, given)) else None


def _checklist(plan: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    entries = (plan or {}).get("checklist")
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def _names(value: Any) -> list[str]:
    return [one[:_LONGEST] for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
