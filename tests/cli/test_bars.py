"""Bars of a share."""

from __future__ import annotations

import pytest

from dagentd.cli.bars import bar, colour


@pytest.mark.parametrize(
    ("share", "drawn", "plain"),
    [
        (0.0, "····", "...."),
        (0.001, "▏···", "#..."),
        (0.5, "██··", "##.."),
        (0.6, "██▍·", "##.."),
        (0.999, "███▉", "###."),
        (1.0, "████", "####"),
        (1.7, "████", "####"),
    ],
)
def test_a_share_is_drawn(share: float, drawn: str, plain: str) -> None:
    assert bar(share, 4) == drawn
    assert bar(share, 4, plain=True) == plain


def test_where_there_is_no_room_there_is_no_bar() -> None:
    assert bar(0.5, 0) == bar(0.5, 0, plain=True) == ""


@pytest.mark.parametrize(("share", "name"), [(0.7, "green"), (0.75, "yellow"), (0.9, "red"), (2, "red")])
def test_the_colour_warns_where_the_events_do(share: float, name: str) -> None:
    assert colour(share) == name
