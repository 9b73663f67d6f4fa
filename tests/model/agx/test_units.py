"""Durations and sizes as AGX writes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagentd.agx import values


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30d", 2_592_000), ("5m", 300), ("10s", 10), ("4h 23m", 15_780), ("22m", 1320), ("7d", 604_800),
     ("2w", 1_209_600), ("1.5h", 5400), ("4h23m", 15_780), (" 45m ", 2700), ("0s", 0)],
)  # fmt: skip
def test_durations_are_read(text: str, seconds: int) -> None:
    assert values.duration_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "30", "d", "30 days", "-5m", "5m!", None, 5, "5M", "１d"])
def test_what_is_no_duration(text: object) -> None:
    assert values.duration_seconds(text) is None


@pytest.mark.parametrize(("seconds", "text"), [(15_780, "4h 23m"), (2700, "45m"), (2_592_000, "30d"), (0, "0s"),
                                               (90_061, "1d 1h 1m 1s"), (-5, "0s")])  # fmt: skip
def test_durations_are_written(seconds: int, text: str) -> None:
    assert values.format_duration(seconds) == text


@given(st.integers(0, 10**9))
def test_a_duration_is_read_as_it_was_written(seconds: int) -> None:
    assert values.duration_seconds(values.format_duration(seconds)) == seconds


@pytest.mark.parametrize(("seconds", "text"), [(1315, "22m"), (29, "29s"), (3599, "1h"), (89, "1m")])
def test_an_average_is_in_whole_minutes(seconds: float, text: str) -> None:
    assert values.rounded(seconds) == text


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("100MB", 100_000_000),
        ("2.4MB", 2_400_000),
        ("812B", 812),
        ("1 kb", 1000),
        ("1MiB", 1 << 20),
        ("3TB", 3 * 10**12),
    ],
)
def test_sizes_are_read(text: str, count: int) -> None:
    assert values.size_in_bytes(text) == count


@pytest.mark.parametrize("text", ["", "100", "MB", "1iB", "1XB", "-1MB", None, 100])
def test_what_is_no_size(text: object) -> None:
    assert values.size_in_bytes(text) is None


@pytest.mark.parametrize(("count", "text"), [(0, "0B"), (812, "812B"), (2_400_000, "2.4MB"), (100_000_000, "100MB"),
                                             (999_960, "1MB"), (5 * 10**15, "5000TB")])  # fmt: skip
def test_sizes_are_written(count: int, text: str) -> None:
    assert values.format_size(count) == text
