"""Every operation, stopped at its durable steps: by kill -9, and by a power failure. A ninth of the operations at a
time, at the steps that leave another disk behind, and of many at every third; all at all of them in `make torture`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.torture import explorer_agx, explorer_migrations, explorer_sessions
from tests.torture.explorer import Make, explore, fast_place
from tests.torture.explorer_agx import AgxCase
from tests.torture.explorer_migrations import MigrationCase
from tests.torture.explorer_power import WAYS, How
from tests.torture.explorer_sessions import SessionCase, SlowWriter
from tests.torture.explorer_wire import Lane, lane
from tests.torture.seeds import THOROUGH

Record = Callable[[str, object], None]
# A hundred points each; a busy machine takes its time for them.
pytestmark = [pytest.mark.turns(9), pytest.mark.timeout(1200)]


@pytest.fixture
def folder() -> Iterator[Path]:
    with TemporaryDirectory(dir=fast_place()) as made:
        yield Path(made)


@pytest.fixture(scope="module")
def lanes() -> Iterator[list[Lane]]:
    with lane() as one, lane() as two:
        yield [one, two]


def _explore(name: str, make: Make, how: How, folder: Path, lanes: list[Lane], record: Record) -> None:
    points = explore(make, how, folder, lanes, THOROUGH)
    assert points > 1
    record("crash points", [name, how, points])  # told at the end of the run, by tests/conftest.py


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize(
    ("op", "prepare", "check"),
    explorer_sessions.CASES,
    ids=[f"{op}-{prepare.__name__}" for op, prepare, _ in explorer_sessions.CASES],
)
def test_sessions(
    op: str, prepare: explorer_sessions.Prepare, check: explorer_sessions.Check, how: How, folder: Path,
    lanes: list[Lane], record_property: Record,
) -> None:  # fmt: skip
    make = partial(SessionCase, op, prepare=prepare, check=check)
    _explore(op, make, how, folder, lanes, record_property)


def test_beside_a_slow_writer(folder: Path, lanes: list[Lane], record_property: Record) -> None:
    """By kill only: a program that waits to write does not outlive a power failure."""
    _explore("open beside a slow writer", SlowWriter, "kill", folder, lanes, record_property)


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize(
    ("op", "prepare"), explorer_migrations.CASES, ids=[f"{op}-{p.__name__}" for op, p in explorer_migrations.CASES]
)
def test_migrations(
    op: str, prepare: explorer_migrations.Prepare, how: How, folder: Path, lanes: list[Lane], record_property: Record
) -> None:
    _explore(op, partial(MigrationCase, op, prepare=prepare), how, folder, lanes, record_property)


@pytest.mark.parametrize(("op", "how"), explorer_agx.CASES)
def test_agx(op: str, how: How, folder: Path, lanes: list[Lane], record_property: Record) -> None:
    _explore(op, partial(AgxCase, op), how, folder, lanes, record_property)
