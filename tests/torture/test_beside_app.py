"""Beside the app: nothing is lost and nothing doubled, whoever wrote it and whoever was killed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.e2e.daemon import Daemon
from tests.torture import beside_app
from tests.torture.seeds import THOROUGH, drawn

MESSAGES, KILLS = (10_000, 60) if THOROUGH else (60, 2)


@pytest.mark.long
@pytest.mark.timeout(3600 if THOROUGH else 300)
def test_nothing_is_lost_or_doubled_beside_the_app(repo: Path, daemon: Daemon) -> None:
    seed = drawn()
    truth = beside_app.run(repo, daemon, seed, MESSAGES, KILLS)
    counts = ", ".join(f"{number} {what}" for what, number in sorted(truth.counts.items()))
    sys.stdout.write(f"seed {seed}: {counts}; {len(truth.excused)} emptied while no daemon lived\n")
    assert not truth.wrong
