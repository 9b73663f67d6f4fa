"""Adding up what conversations took."""

from __future__ import annotations

from datetime import UTC, timedelta, timezone

import pytest

from dagentd.agents.conversation import Event, Usage
from dagentd.agents.usage import BY, Row, Use, report, total
from tests.agents.reading import CLAUDE, events, sample


def use(key: str, at: str = "2026-11-18T23:30:00.000Z", session: str = "s1", model: str = "m1", **numbers: int) -> Use:
    return Use(Usage(key, at, model, **numbers), "claude-code", session, "/r")


def test_an_answer_counts_once_by_its_largest_numbers() -> None:
    uses = [use("a", input=5, output=1), use("a", input=5, output=90), use("a", session="fork", input=5, output=90)]
    assert report(uses, "session", UTC) == [Row("s1", 1, input=5, output=90)]


def test_days_are_those_of_the_zone_and_in_their_order() -> None:
    uses = [
        use("b", "2026-11-18T23:30:00Z", input=1),
        use("a", "2026-11-17T10:00:00Z", input=9),
        use("c", "no", input=2),
    ]
    assert [row.name for row in report(uses, "day", UTC)] == ["", "2026-11-17", "2026-11-18"]
    assert [row.name for row in report(uses, "day", timezone(timedelta(hours=2)))] == ["", "2026-11-17", "2026-11-19"]


def test_all_else_is_by_size() -> None:
    uses = [use("a", model="small", input=1), use("b", model="large", cache_read=50), use("c", model="small", output=2)]
    assert [(row.name, row.answers, row.tokens) for row in report(uses, "model", UTC)] == [
        ("large", 1, 50),
        ("small", 2, 3),
    ]


@pytest.mark.parametrize("by", BY)
def test_the_total_is_the_same_by_whatever_it_is_split(by: str) -> None:
    told = {name: events(CLAUDE, sample(name)) for name in ("claude-code", "claude-code-fork", "claude-code-subagent")}
    uses = [
        Use(each, "claude-code", name, f"/{name}")
        for name, found in told.items()
        for each in found
        if isinstance(each, Usage)
    ]
    whole = total(report(uses, by, UTC))  # type: ignore[arg-type]
    # Seven prompts took fifteen answers; that of the summary is in no line.
    assert (whole.answers, whole.output) == (14, sum(40 + n for n in range(1, 16) if n != 8))
    assert whole.cost == pytest.approx(_last_cost(told["claude-code"]))


def _last_cost(found: list[Event]) -> float:
    return sum(each.cost for each in found if isinstance(each, Usage) and each.cost is not None)


def test_nobody_guesses_a_cost() -> None:
    (row,) = report([use("a", input=1)], "agent", UTC)
    assert row.document() == {
        "name": "claude-code",
        "answers": 1,
        "input": 1,
        "output": 0,
        "cacheRead": 0,
        "cacheWrite": 0,
        "reasoning": 0,
        "cost": None,
    }
