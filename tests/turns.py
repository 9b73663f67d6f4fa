"""Which tests a run takes, and which of them first.

Tests that take turns: where many like cases each cost much, a run takes one of n of them, drawn anew each time.
`@pytest.mark.turns(3)` on a parametrised test, or as a module's `pytestmark`, takes a third of the cases of each test
function. `make torture` takes all, and so does whoever names tests one by one.

`@pytest.mark.early`: a test that takes very long begins at once, or at the end all the others would wait for it.
"""

from __future__ import annotations

import random
from collections import defaultdict

import pytest

from tests.torture.seeds import THOROUGH, of_the_run


def choose(config: pytest.Config, items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.get_closest_marker("early") is None)
    if THOROUGH or config.option.keyword or any("::" in argument for argument in config.args):
        return
    cases = defaultdict[str, list[pytest.Item]](list)
    for item in items:
        if item.get_closest_marker("turns"):
            cases[item.nodeid.partition("[")[0]].append(item)
    waiting = {item for name, found in cases.items() for item in set(found) - _taken(name, found)}
    if waiting:
        config.hook.pytest_deselected(items=list(waiting))
        items[:] = [item for item in items if item not in waiting]


def _taken(name: str, found: list[pytest.Item]) -> set[pytest.Item]:
    """At least one. By dice: every nth would have one and the same value of some parameter."""
    marker = found[0].get_closest_marker("turns")
    assert marker is not None
    return set(random.Random(f"{of_the_run()} {name}").sample(found, -(-len(found) // marker.args[0])))
