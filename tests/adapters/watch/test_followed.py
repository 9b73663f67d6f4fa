"""Which followed folders a change concerns, and that each is looked at now and then."""

from __future__ import annotations

from pathlib import Path

import pytest

from dagentd.adapters.watch import Followed

ROOT = Path("/r")
ALL = {ROOT / "a", ROOT / "a" / "x", ROOT / "a" / "x" / "deep", ROOT / "ab", ROOT / "b" / "y"}


@pytest.mark.parametrize(
    ("changed", "concerned"),
    [
        (set(), set()),
        ({ROOT / "a"}, {ROOT / "a", ROOT / "a" / "x", ROOT / "a" / "x" / "deep"}),
        ({ROOT / "a" / "x" / "deep"}, {ROOT / "a" / "x" / "deep"}),
        ({ROOT / "b"}, {ROOT / "b" / "y"}),
        ({ROOT / "b", ROOT / "ab"}, {ROOT / "b" / "y", ROOT / "ab"}),
        ({ROOT / "a" / "file", ROOT / "c"}, set()),
        ({ROOT}, ALL),
    ],
)
def test_what_is_at_or_below_a_change(changed: set[Path], concerned: set[Path]) -> None:
    assert Followed(ALL).concerned(changed) == concerned


def test_each_has_its_turn() -> None:
    followed = Followed(ALL)
    assert {folder for _ in range(3) for folder in followed.next(2)} == ALL
    assert len(followed.next(2)) == 2
    assert Followed().next(2) == ()


def test_those_that_come_and_go_do_not_take_the_turn_of_the_others() -> None:
    followed, seen = Followed(ALL), set()
    for number in range(12):
        seen |= set(followed.next(1))
        followed = Followed(ALL | {ROOT / str(number)}, followed)
    assert seen >= ALL
    assert Followed(ALL - {ROOT / "a"}, followed).next(100).count(ROOT / "a") == 0
