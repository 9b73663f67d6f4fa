from __future__ import annotations

import pytest

from dagentd.model.budget import Budget, Parts, fullness

BUDGET = Budget(limit=100_000, threshold=0.9, target=0.6, prompt_buffer=1000)


def test_total_is_the_sum_of_the_parts() -> None:
    assert Parts(1, 20, 300, 4000, 50_000).total == 54_321


def test_room_is_kept_for_a_prompt_that_is_still_to_come() -> None:
    assert BUDGET.load(Parts(messages=5000)) == 6000
    assert BUDGET.share(Parts(messages=49_000)) == 0.5


def test_a_prompt_uses_the_room_kept_for_it_before_it_counts_more() -> None:
    assert BUDGET.load(Parts(messages=5000, user_prompt=400)) == 6000
    assert BUDGET.load(Parts(messages=5000, user_prompt=2500)) == 7500


@pytest.mark.parametrize(("messages", "needed"), [(88_999, False), (89_000, False), (89_001, True)])
def test_compaction_is_needed_over_the_threshold_and_not_at_it(messages: int, needed: bool) -> None:
    assert BUDGET.needs_compaction(Parts(messages=messages)) is needed


def test_every_part_counts_for_the_trigger() -> None:
    assert BUDGET.needs_compaction(Parts(20_000, 20_000, 20_000, 29_001))


def test_what_cannot_be_compacted_may_be_too_much_by_itself() -> None:
    assert BUDGET.beyond_compaction(Parts(agent_description=40_000, context=49_001))
    assert not BUDGET.beyond_compaction(Parts(agent_description=40_000, context=49_000, messages=500_000))
    assert not BUDGET.beyond_compaction(Parts(checkpoint=200_000))


def test_the_biggest_part_comes_first_and_can_be_asked_of_those_that_stay() -> None:
    parts = Parts(agent_description=100, context=60_000, checkpoint=8000, messages=90_000)
    assert parts.by_size()[:2] == [("messages", 90_000), ("context", 60_000)]
    assert parts.fixed.by_size()[0] == ("context", 60_000)


@pytest.mark.parametrize(("bound", "matters"), [(0, False), (74_000, False), (74_001, True), (1_000_000, True)])
def test_counting_matters_once_the_bound_reaches_the_first_warning(bound: int, matters: bool) -> None:
    assert BUDGET.exact_matters(Parts(messages=bound)) is matters


def test_counting_matters_at_a_threshold_below_the_first_warning() -> None:
    early = Budget(limit=100_000, threshold=0.5, target=0.3, prompt_buffer=0)
    assert early.exact_matters(Parts(messages=50_001))
    assert not early.exact_matters(Parts(messages=50_000))


def test_what_would_not_help_is_not_due_and_said_to_be_beyond() -> None:
    """Alone over the threshold, or with hardly a message to compact beside them."""
    for parts in (Parts(context=89_001, messages=50_000), Parts(context=80_000, checkpoint=6000, messages=4999)):
        full = fullness(BUDGET, parts, undone=False)
        assert (full.due, full.beyond) == (False, True)
    full = fullness(BUDGET, Parts(context=80_000, checkpoint=6000, messages=5000), undone=False)
    assert (full.due, full.beyond) == (True, False)


def test_who_undid_a_compaction_has_peace_until_the_limit_itself() -> None:
    for messages, due, after_undo in ((89_000, False, False), (89_001, True, False), (99_001, True, True)):
        found = [fullness(BUDGET, Parts(messages=messages), undone=undone).due for undone in (False, True)]
        assert found == [due, after_undo]
