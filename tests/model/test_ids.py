"""Ids become file names, so each is checked before."""

from __future__ import annotations

import pytest

from dagentd.errors import InvalidInput
from dagentd.model import ids


@pytest.mark.parametrize("good", ["a", "pm-feature-x", "A.b_c-9", "x" * 200, "9"])
def test_good_ones(good: str) -> None:
    assert ids.checked(good) == good


@pytest.mark.parametrize(
    "bad", ["", ".", "..", "a..b", "a/b", "/etc", "a\0b", "a b", "-a", "_a", "x" * 201, "é", "e\u0301", "a\n", "ａ"]
)
def test_bad_ones_are_refused_with_what_is_allowed(bad: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be a session id") as caught:
        ids.checked(bad)
    assert "1 to 200" in caught.value.hint
    assert len(str(caught.value)) < 300


def test_session_ids_are_made_from_checked_parts() -> None:
    assert ids.feature_session("pm", "my-feature") == "pm-feature-my-feature"
    assert ids.task_session("dev", "my-feature", "task-1", "in_dev") == "dev-task-my-feature-task-1-in_dev"
    for wrong in (("boss", "f", "t", "in_dev"), ("dev", "../f", "t", "in_dev"), ("dev", "f", "t", "asleep")):
        with pytest.raises(InvalidInput):
            ids.task_session(*wrong)
    with pytest.raises(InvalidInput, match="cannot be a session id"):
        ids.feature_session("pm", "x" * 195)


def test_a_derived_id_is_the_same_each_time_and_differs_with_each_part() -> None:
    one = ids.derived("sessions/chat.json", "user", "2026-01-01T00:00:00Z", "Hello", 0)
    assert one == "x-319d895b4ba6abf297bfd2ab8c72e9ac"
    others = {
        ids.derived("sessions/chat2.json", "user", "2026-01-01T00:00:00Z", "Hello", 0),
        ids.derived("sessions/chat.json", "assistant", "2026-01-01T00:00:00Z", "Hello", 0),
        ids.derived("sessions/chat.json", "user", None, "Hello", 0),
        ids.derived("sessions/chat.json", "user", "2026-01-01T00:00:00Z", "Hello\ud800", 0),
        ids.derived("sessions/chat.json", "user", "2026-01-01T00:00:00Z", "Hello", 1),
    }
    assert len(others | {one}) == 6
