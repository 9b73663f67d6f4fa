"""Output that somebody pastes without a fence is data; what he writes around it is his."""

from __future__ import annotations

import pytest

from tests.model.compaction.said import after, decisions, user

BUILD = """❯ ./mend.sh
=== Mending the cache ===
This script only touches the cache

→ Stopping workers...
vm.overcommit = 1
cachectl: FATAL: no such device
=== State ===
✗ cache is down"""

RECORD = """name    "Depot 7"
street    ""
city    "Lyon"
kind    "Public Depot"
Working"""

DIAGRAM = """    A(["reader"])
    A --> B{"parts"}
    B --> C["notes"]"""

PIPELINE = """> turbo run check
• Packages in scope: @shop/cart, @shop/till
@shop/cart:check
cache miss, executing 99
src/till.ts(60,5): error TS1: no such name
src/cart.ts:18:2 - error TS2: 'row' is unknown

18         const row = till.rows;
           ~~~
 Tasks:    2 successful, 4 total
  Time:    6.5s
 ELIFECYCLE  Command failed."""


@pytest.mark.parametrize("output", [BUILD, RECORD, DIAGRAM, PIPELINE])
def test_output_states_nothing(output: str) -> None:
    said = "Never restart the cache by hand."
    assert decisions(user(f"{output}\n\n{said}")) == [said]
    assert decisions(user(f"{said}\n{output}")) == [said]


def test_its_error_is_a_blocker_and_nothing_else() -> None:
    lists = after(user('Checking the depots...\nError: unknown flag "all" for "depot"\n'))
    assert lists["blockers"] == ['Error: unknown flag "all" for "depot"']
    assert not [one for one in lists["decisions"] if "unknown flag" in one]


def test_a_list_by_hand_is_no_output() -> None:
    typed = "✅ use pnpm everywhere\n✅ cache: Valkey\n❌ never use yarn\n- timeout: 30 s\n- size = 40 MB"
    assert len(decisions(user(typed))) == 5
