"""The state machine: a fixed number of examples; for TORTURE_MINUTES one seed after the other, if that is set."""

from __future__ import annotations

import itertools
import os
import shutil
import time
from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.errors import FlakyStrategyDefinition
from hypothesis.stateful import run_state_machine_as_test

from tests.torture.explorer_wire import lane
from tests.torture.machine import Machine
from tests.torture.seeds import THOROUGH, drawn

EXAMPLES, STEPS = 50 if THOROUGH else 12, 25  # ten take about six seconds of one core


@pytest.fixture(autouse=True)
def _daemon() -> Iterator[None]:
    with lane() as one:
        Machine.lane = one
        yield
    if Machine.template is not None:
        shutil.rmtree(Machine.template.parent, ignore_errors=True)
        Machine.template = None


@pytest.mark.early
@pytest.mark.more
@pytest.mark.timeout(0)
def test_any_order(record_property: Callable[[str, object], None]) -> None:
    minutes = float(os.environ.get("TORTURE_MINUTES", 0))
    end = time.monotonic() + 60 * minutes
    profile = settings(
        max_examples=EXAMPLES, stateful_step_count=STEPS, deadline=None, database=None, print_blob=True,
        suppress_health_check=list(HealthCheck), phases=[Phase.generate],
    )  # fmt: skip
    for number in itertools.count(drawn()):
        held = "held"
        try:
            run_state_machine_as_test(seed(number)(Machine), settings=profile)
        except FlakyStrategyDefinition:
            # Which step may be next depends on what real processes had done when they were killed; and Hypothesis
            # plays the same draws twice now and then, and gives up on that seed. Whatever is lost is another error.
            held = "held until the same draws went another way"
        told = f"{Machine.examples} examples, {Machine.steps} orders, {Machine.deaths} crashes so far"
        record_property("told", f"state machine: TORTURE_SEED={number} {held}; {told}")
        if time.monotonic() >= end:
            break
