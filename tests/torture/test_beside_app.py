"""Beside the app: nothing is lost and nothing doubled, whoever wrote it and whoever was killed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.daemon import Daemon
from tests.torture import beside_app
from tests.torture.seeds import THOROUGH, drawn

MESSAGES, KILLS = (10_000, 60) if THOROUGH else (60, 2)


@pytest.mark.early
@pytest.mark.long
@pytest.mark.timeout(3600 if THOROUGH else 300)
def test_nothing_is_lost_or_doubled_beside_the_app(
    repo: Path, daemon: Daemon, record_property: Callable[[str, object], None]
) -> None:
    seed = drawn()
    truth = beside_app.run(repo, daemon, seed, MESSAGES, KILLS)
    counts = ", ".join(f"{number} {what}" for what, number in sorted(truth.counts.items()))
    record_property("told", f"beside the app, {seed}: {counts}; {len(truth.excused)} emptied while no daemon lived")
    assert not truth.wrong
