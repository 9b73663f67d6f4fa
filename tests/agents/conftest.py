"""A desk for each test that asks for one, and the real programs where they can be had."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.desk import Desk
from tests.agents.programs import NotHere, Programs, programs
from tests.e2e.daemon import daemon as daemon


@pytest.fixture
def desk(home: Path, repo: Path, tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(home, tmp_path / "ours", repo)
    yield desk
    desk.stop()


@pytest.fixture(scope="module")
def installed() -> Programs:
    try:
        return programs()
    except NotHere as reason:
        pytest.skip(str(reason))
