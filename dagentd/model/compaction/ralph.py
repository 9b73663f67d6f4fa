"""The Ralph Loop of a task: how far its iterations are, from what messages report and from plan.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dagentd.model.compaction.turns import Turn

_MOST = 40  # checks of each kind, the latest: an agent may name each run of its tests otherwise
_LONGEST = 500  # characters of a name or an error: all of this is in every request
_PASSED, _FAILED = ("passed", "pass", "completed", "done", "verified"), ("failed", "fail", "error")


def ralph_loop(before: Any, turns: Sequence[Turn], plan: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The latest word on each check counts, and plan.json, which the loop itself keeps, before messages. None if there
    is no sign of a loop."""
    known: Mapping[str, Any] = before if isinstance(before, Mapping) else {}
    states: dict[str, bool] = dict.fromkeys(_names(known.get("passedChecks")), True)
    states |= dict.fromkeys(_names(known.get("failedChecks")), False)
    error = known["lastError"] if isinstance(known.get("lastError"), str) else ""
    for check in (check for turn in turns for check in turn.checks):
        _tell(states, check.name, check.passed)
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
    entries = (plan or {}).get("checklist")
    found = []
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, dict) and entry.get("status") in (*_PASSED, *_FAILED):
            name, error = entry.get("description") or entry.get("id"), entry.get("error")
            if isinstance(name, str):
                found.append((name, entry["status"] in _PASSED, error if isinstance(error, str) else ""))
    return found


def _names(value: Any) -> list[str]:
    return [one[:_LONGEST] for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
