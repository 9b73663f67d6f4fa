"""Planted facts that others wrote, in words that were looked at only after the rules had been measured on them."""

from __future__ import annotations

import math
from functools import cache

import pytest

from dagentd.adapters import tokens
from dagentd.model.compaction.checkpoints import within
from dagentd.model.compaction.items import Item
from dagentd.model.compaction.local import operations
from dagentd.model.compaction.operations import perform
from dagentd.model.compaction.turns import turn
from tests.planted import KINDS, Half, Score, conversation

_ROOM, _FACTOR = 8000, 1.55  # checkpoint_tokens, and what our count is corrected by before a model reports its own
_CHOSEN = ("decision", "constraint", "reversal")
_HALVES: tuple[Half, ...] = ("seen", "held_out", "fresh")


def _count(text: str) -> int:
    return math.ceil(_FACTOR * tokens.count(text))


@cache
def _scored(half: Half, seed: int) -> Score:
    """After five rounds, each within the room of a checkpoint."""
    planted = conversation(seed, half)
    items: list[Item] = []
    for messages in planted.rounds:
        items, _ = perform(items, operations(items, [turn(raw) for raw in messages]), "")
        items, _ = within(items, _ROOM, _count)
    return planted.score(items)


def _share(half: Half, *kinds: str) -> float:
    scores = [_scored(half, seed) for seed in (0, 1)]
    planted = sum(score.planted[kind] for score in scores for kind in KINDS if kind in kinds)
    return sum(score.kept[kind] for score in scores for kind in KINDS if kind in kinds) / planted


@pytest.mark.parametrize("half", _HALVES)
def test_decisions_and_limits_are_kept_and_nearly_all_else(half: Half) -> None:
    assert _share(half, *_CHOSEN) >= 0.95
    assert _share(half, *(kind for kind in KINDS if kind not in _CHOSEN)) >= 0.95


@pytest.mark.parametrize("half", _HALVES)
def test_of_a_reversal_hardly_an_old_side_is_left(half: Half) -> None:
    assert sum(len(_scored(half, seed).old_sides) for seed in (0, 1)) <= 1


@pytest.mark.parametrize("half", _HALVES)
def test_every_item_has_its_source_and_what_distracts_becomes_none(half: Half) -> None:
    scores = [_scored(half, seed) for seed in (0, 1)]
    assert sum(score.sourceless + score.misattributed for score in scores) == 0
    assert sum(len(score.distracted) for score in scores) <= 1
