"""No test sees the home of whoever runs it."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parent
FIXTURE = re.compile(r"^@pytest\.fixture\b.*\n(?:async )?def home\(", re.MULTILINE)


def test_no_fixture_takes_the_place_of_the_one_that_gives_a_home() -> None:
    """Of two by one name the nearer counts: thirteen tests ran in the real home, and failed where git knew nobody."""
    named = [path.relative_to(TESTS) for path in TESTS.rglob("*.py") if FIXTURE.search(path.read_text())]
    assert named == [Path("conftest.py")]
