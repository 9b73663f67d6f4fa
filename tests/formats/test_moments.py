"""Times as legacy files have them."""

from __future__ import annotations

from typing import Any

import pytest

from dagentd.formats import moments
from tests.formats.golden import converted


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (1705488000000, "2024-01-17T10:40:00.000Z"),
        (1705488000123, "2024-01-17T10:40:00.123Z"),
        (1705488000, "2024-01-17T10:40:00.000Z"),
        (1705488000.123, "2024-01-17T10:40:00.123Z"),
        (1705488000123.9, "2024-01-17T10:40:00.123Z"),
        ("1705488000000", "2024-01-17T10:40:00.000Z"),
        ("1705488000", "2024-01-17T10:40:00.000Z"),
        (0, "1970-01-01T00:00:00.000Z"),
        (-1000, "1969-12-31T23:43:20.000Z"),
        (99_999_999_999, "5138-11-16T09:46:39.000Z"),
        (100_000_000_000, "1973-03-03T09:46:40.000Z"),
        ("2026-01-15T10:00:00", "2026-01-15T10:00:00.000Z"),
        ("2026-01-15 10:00:00.5", "2026-01-15T10:00:00.500Z"),
        ("2026-01-15", "2026-01-15T00:00:00.000Z"),
        ("20260115", "2026-01-15T00:00:00.000Z"),
        ("2026-01-15T12:00:00.123456+02:00", "2026-01-15T10:00:00.123Z"),
        ("2026-01-15T10:00:00Z", "2026-01-15T10:00:00.000Z"),
    ],
)
def test_times_in_canonical_form(written: Any, expected: str) -> None:
    assert moments.canonical(written) == expected


@pytest.mark.parametrize(
    "written",
    ["2026-01-15T10:00:00.000Z", "2026-01-15T12:00:00+02:00", "2026-01-15T10:00Z", "2026-01-15T10:00:00.123456789Z"],
)
def test_iso_with_a_zone_is_kept_where_it_may_be(written: str) -> None:
    assert moments.verbatim(written) == written


@pytest.mark.parametrize("written", ["2026-01-15T10:00:00", 1705488000, "2026-01-15 10:00:00+00:00"])
def test_all_else_is_converted(written: Any) -> None:
    assert moments.verbatim(written) == moments.canonical(written) != written


@pytest.mark.parametrize(
    "nonsense",
    [None, True, "", "yesterday", "2026-13-45T10:00:00Z", [], {"$date": 1}, 1e999, -1e999, float("nan"), 10**400, 1e18,
     "0001-01-01T00:00:00+23:00", "9999-12-31T23:59:59-23:00", "\ud800", "a\0b",
     "\u0661\u0667\u0660\u0665\u0664\u0668\u0668\u0660\u0660\u0660"],
)  # fmt: skip
def test_nonsense_is_no_time(nonsense: Any) -> None:
    assert moments.canonical(nonsense) is None
    if nonsense not in ("0001-01-01T00:00:00+23:00", "9999-12-31T23:59:59-23:00"):
        assert moments.verbatim(nonsense) is None


def _stamps(*written: Any, **root: Any) -> list[tuple[str, Any]]:
    entries = [{"type": "user", "text": str(i)} | ({} if w is ... else {"timestamp": w}) for i, w in enumerate(written)]
    messages = converted("chat.json", {"entries": entries, **root}, "L1").messages
    return [(message["timestamp"], message["metadata"].get("originalTimestamp", "kept")) for message in messages]


ONE, TWO = "2026-01-15T10:00:00.000Z", "2026-01-15T11:00:00.000Z"


def test_a_missing_time_is_its_predecessors() -> None:
    found = _stamps(ONE, ..., None, "nonsense", TWO, ...)
    assert found == [(ONE, "kept"), (ONE, None), (ONE, None), (ONE, "nonsense"), (TWO, "kept"), (TWO, None)]


def test_the_order_is_that_of_the_file_and_not_of_time() -> None:
    assert [stamp for stamp, _ in _stamps(TWO, ONE, ONE, TWO)] == [TWO, ONE, ONE, TWO]


def test_the_first_ones_take_the_documents_time_else_the_next_one_else_none_that_is_real() -> None:
    assert _stamps(..., TWO, createdAt=ONE) == [(ONE, None), (TWO, "kept")]
    assert _stamps(..., "nonsense", TWO, ONE) == [(TWO, None), (TWO, "nonsense"), (TWO, "kept"), (ONE, "kept")]
    assert _stamps(..., ...) == [("1970-01-01T00:00:00.000Z", None)] * 2


def test_a_time_that_nobody_knows_is_not_when_the_session_began() -> None:
    found = converted("chat.json", {"entries": [{"type": "user", "text": "Hi"}]}, "L1")
    assert "createdAt" not in found.fields
