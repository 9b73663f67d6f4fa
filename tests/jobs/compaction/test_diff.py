"""What a preview says changes: beside the checkpoint that is there now, not step by step."""

from __future__ import annotations

from dataclasses import replace

from dagentd.jobs.compaction import net
from dagentd.model.compaction.items import Item
from dagentd.model.compaction.operations import Change

OLD, FIRST, SECOND, THIRD = (Item(name, "decisions", f"text of {name}", ()) for name in ("old", "i1", "i2", "i3"))


def test_what_came_and_was_replaced_in_the_same_compaction_is_just_what_it_came_to() -> None:
    changes = [Change("added", None, FIRST), Change("superseded", FIRST, SECOND), Change("superseded", SECOND, THIRD)]
    assert net(changes) == [Change("added", None, THIRD)]


def test_what_was_there_is_replaced_by_the_last_of_them() -> None:
    changes = [Change("superseded", OLD, FIRST), Change("superseded", FIRST, SECOND)]
    assert net(changes) == [Change("superseded", OLD, SECOND)]


def test_what_came_and_is_over_already_is_nothing() -> None:
    asked = Item("ask", "pending", "Write it", ())
    under_way = replace(asked, list="inProgress")
    changes = [Change("added", None, asked), Change("moved", asked, under_way), Change("resolved", under_way, None)]
    assert net(changes) == [] and net(changes[:2]) == [Change("added", None, under_way)]


def test_what_has_nothing_to_do_with_each_other_stays_in_order() -> None:
    changes = [Change("added", None, FIRST), Change("resolved", OLD, None),
               Change("added", None, SECOND)]  # fmt: skip
    assert net(changes) == changes
