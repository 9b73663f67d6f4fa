"""Journals damaged at random; the seed says how, again and again in `make torture`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.torture.damage import Damage
from tests.torture.explorer import fast_place
from tests.torture.explorer_wire import Lane, lane
from tests.torture.seeds import THOROUGH, drawn

LIVES, STEPS = 400 if THOROUGH else 15, 25


@pytest.fixture
def forks() -> Iterator[Lane]:
    with lane() as one:
        yield one


@pytest.mark.more
@pytest.mark.timeout(1200)
def test_what_anything_still_has_comes_back(forks: Lane) -> None:
    first = drawn()
    for seed in range(first, first + LIVES):
        with TemporaryDirectory(dir=fast_place()) as folder:
            life = Damage(forks, Path(folder) / "p", seed)
            try:
                life.run(STEPS)
            except Exception as error:
                error.add_note("\n".join([f"TORTURE_SEED={seed}", *life.steps]))
                raise
