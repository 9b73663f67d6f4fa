from __future__ import annotations

import json
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagentd.model.calibration import HIGHEST, LOWEST, Calibration, family, whole_input

HAIKU = "claude-haiku-5-5"


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("claude-haiku-4-5", "claude-haiku-4-5"),
        ("claude-haiku-4-5-20251001", "claude-haiku-4-5"),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", "claude-haiku-4-5"),
        ("claude-sonnet-4.5", "claude-sonnet-4-5"),
        ("Claude-Opus-4-20250514", "claude-opus-4"),
        ("claude-3-5-sonnet-20241022", "claude-3-5"),
        ("claude-sonnet-20250514", "other"),
        ("gpt-5", "other"),
        ("", "other"),
    ],
)
def test_a_family_is_the_model_without_vendor_and_date(model: str, expected: str) -> None:
    assert family(model) == expected


@pytest.mark.parametrize(
    ("model", "factor"),
    [
        ("claude-2.1", 1.20),
        ("claude-3-5-sonnet-20241022", 1.20),
        ("claude-opus-4-20250514", 1.20),
        ("claude-opus-4-6", 1.20),
        ("claude-opus-4-7", 1.55),
        (HAIKU, 1.55),
        ("claude-opus-10-1", 1.55),
        ("something-else", 1.55),
    ],
)
def test_the_published_figures_are_the_start(model: str, factor: float) -> None:
    assert Calibration().factor(model) == factor


def test_tokens_are_rounded_up() -> None:
    assert Calibration().tokens(101, "claude-haiku-4-5") == 122
    assert Calibration().tokens(0, HAIKU) == 0


@pytest.mark.parametrize("truth", [0.7, 0.8, 1.0, 1.2, 1.32, 1.55, 2.0])
def test_ten_reports_bring_the_error_under_five_percent(truth: float) -> None:
    noise = random.Random(7)
    calibration = Calibration()
    for _ in range(10):
        raw = noise.randrange(5_000, 90_000)
        calibration = calibration.after(HAIKU, raw, round(raw * truth * noise.uniform(0.97, 1.03)))
    assert calibration.factor(HAIKU) == pytest.approx(truth, rel=0.05)


def test_families_learn_by_themselves() -> None:
    calibration = Calibration().after(HAIKU, 10_000, 13_000)
    assert calibration.factor("claude-haiku-5-5-20261001") < 1.55
    assert calibration.factor("claude-opus-5-5") == 1.55


def test_one_report_does_not_decide() -> None:
    assert Calibration().after(HAIKU, 50_000, 1).factor(HAIKU) > 1.25
    assert Calibration().after("claude-haiku-4-5", 50_000, 10_000_000).factor("claude-haiku-4-5") < 1.5


@pytest.mark.parametrize(("raw", "reported"), [(0, 100), (499, 2000), (10_000, 0), (10_000, -1), (-5, 5)])
def test_a_report_that_says_nothing_about_the_text_changes_nothing(raw: int, reported: int) -> None:
    assert Calibration().after(HAIKU, raw, reported) == Calibration()


@given(st.lists(st.tuples(st.integers(0, 10**7), st.integers(-10, 10**9))))
def test_a_factor_stays_within_its_bounds(reports: list[tuple[int, int]]) -> None:
    calibration = Calibration()
    for raw, reported in reports:
        calibration = calibration.after(HAIKU, raw, reported)
    assert LOWEST <= calibration.factor(HAIKU) <= HIGHEST


def test_a_fixed_factor_is_not_learned_away() -> None:
    calibration = Calibration(fixed=1.1).after(HAIKU, 50_000, 90_000)
    assert calibration.factor(HAIKU) == 1.1
    assert calibration.dump() == {}


def test_what_was_learned_survives_being_saved() -> None:
    calibration = Calibration().after(HAIKU, 50_000, 66_000).after("gpt-5", 50_000, 50_000)
    assert Calibration.load(json.loads(json.dumps(calibration.dump()))) == calibration


@pytest.mark.parametrize(
    "raw", [None, [], "x", 3, {"claude-haiku-5-5": "1.3"}, {HAIKU: None}, {HAIKU: math.nan}, {HAIKU: True}]
)
def test_a_damaged_record_is_as_good_as_none(raw: object) -> None:
    assert Calibration.load(raw) == Calibration()


def test_a_saved_factor_is_bounded_too() -> None:
    assert Calibration.load({HAIKU: 99}).factor(HAIKU) == HIGHEST


def test_the_whole_input_counts_what_the_cache_took_and_gave() -> None:
    usage = {"input_tokens": 5, "cache_creation_input_tokens": 700, "cache_read_input_tokens": 11_000}
    assert whole_input({**usage, "output_tokens": 9}) == 11_705
    assert whole_input({"input_tokens": 12, "cache_read_input_tokens": None}) == 12
    assert whole_input({}) == 0
