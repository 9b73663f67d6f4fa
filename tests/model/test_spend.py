"""When a model may be called: caps for all, backoff and breaker for each, from the calls before."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagentd.model.spend import DAY, HOUR, Call, Caps, again_at, cost, refusal, spent

NOW, MODEL, CAPS = 1_800_000_000.0, "claude-haiku-5-5", Caps(5, 10_000)


def failures(*ago: float, model: str = MODEL, retry_after: float | None = None) -> list[Call]:
    return [Call(NOW - each, model, 0, failed=True, why="server", retry_after=retry_after) for each in ago]


_CALLS = st.lists(
    st.builds(
        Call, at=st.floats(NOW - 2 * DAY, NOW), model=st.sampled_from([MODEL, "other"]), tokens=st.integers(0, 5_000),
        failed=st.sampled_from([True, False, None]), retry_after=st.none() | st.floats(-10, math.inf),
    ),
    max_size=12,
)  # fmt: skip


@given(_CALLS, st.integers(0, 12_000), st.booleans())
def test_no_call_goes_over_a_cap_whoever_asks(calls: list[Call], wanted: int, forced: bool) -> None:
    if refusal(calls, NOW, MODEL, wanted, CAPS, forced=forced) is None:
        assert spent(calls, NOW, HOUR).calls < CAPS.calls_per_hour
        assert spent(calls, NOW, DAY).tokens + wanted <= CAPS.tokens_per_day


@given(_CALLS)
def test_no_model_rests_for_longer_than_six_hours(calls: list[Call]) -> None:
    assert again_at(calls, MODEL) <= NOW + 6 * HOUR


def test_after_each_failure_it_waits_longer_and_after_three_for_an_hour() -> None:
    assert again_at(failures(0), MODEL) == NOW + 30
    assert again_at(failures(100, 0), MODEL) == NOW + 60
    assert again_at(failures(200, 100, 0), MODEL) == NOW + HOUR
    assert again_at(failures(900, 200, 100, 0), MODEL) == NOW + HOUR


def test_a_success_ends_the_row_and_a_call_that_still_runs_says_nothing() -> None:
    well = Call(NOW, MODEL, 10, failed=False)
    assert again_at([*failures(3, 2, 1), well], MODEL) == 0.0
    assert again_at([well, *failures(0), Call(NOW, MODEL, 10)], MODEL) == NOW + 30
    assert again_at(failures(0, model="other"), MODEL) == 0.0


@pytest.mark.parametrize(("asked", "waits"), [(45, 45), (1, 30), (30 * DAY, 6 * HOUR), (math.inf, 6 * HOUR), (-5, 30)])
def test_what_the_api_asks_for_is_heeded_within_reason(asked: float, waits: float) -> None:
    assert again_at(failures(0, retry_after=asked), MODEL) == NOW + waits


def test_who_asks_by_name_passes_backoff_and_never_the_caps() -> None:
    calls = failures(3, 2, 1)
    assert "tried again in 60 min" in str(refusal(calls, NOW, MODEL, 1, CAPS))
    assert refusal(calls, NOW, MODEL, 1, CAPS, forced=True) is None
    assert "max_calls_per_hour" in str(refusal(failures(5, 4, 3, 2, 1), NOW, MODEL, 1, CAPS, forced=True))
    assert "max_tokens_per_day" in str(refusal([], NOW, MODEL, 10_001, CAPS, forced=True))
    assert "max_calls_per_hour" in str(refusal([], NOW, MODEL, 1, Caps(0, 10), forced=True))


def test_what_it_costs() -> None:
    assert cost(MODEL, 1_000_00, 1_000_000) == pytest.approx(0.01 + 0.5)
    assert cost(MODEL, 200_000, 0) == pytest.approx(5 * 0.02)
    assert cost("claude-haiku-4-5-20251001", 1_000_000, 1_000_000) == pytest.approx(6.0)
    assert cost("something-else", 1, 1) is None
