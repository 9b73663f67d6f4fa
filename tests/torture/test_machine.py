"""The state machine: any seed for a fixed number of examples; for TORTURE_MINUTES one after the other, if that is set;
from TORTURE_SEED again."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.torture.explorer_wire import lane
from tests.torture.machine import Machine
from tests.torture.seeds import drawn

EXAMPLES, STEPS = 50, 25  # about half a minute of one core


@pytest.fixture(autouse=True)
def _daemon() -> Iterator[None]:
    with lane() as one:
        Machine.lane = one
        yield
    if Machine.template is not None:
        shutil.rmtree(Machine.template.parent, ignore_errors=True)
        Machine.template = None


@pytest.mark.timeout(0)
def test_any_order(record_property: Callable[[str, object], None]) -> None:
    minutes, chosen = float(os.environ.get("TORTURE_MINUTES", 0)), os.environ.get("TORTURE_SEED")
    end = time.monotonic() + 60 * minutes
    profile = settings(
        max_examples=EXAMPLES, stateful_step_count=STEPS, deadline=None, database=None, print_blob=True,
        suppress_health_check=list(HealthCheck), phases=[Phase.generate],
    )  # fmt: skip
    while True:
        number = drawn()
        run_state_machine_as_test(seed(number)(Machine), settings=profile)
        told = f"{Machine.examples} examples, {Machine.steps} orders, {Machine.deaths} crashes so far"
        record_property("told", f"state machine: TORTURE_SEED={number} held; {told}")
        if chosen or time.monotonic() >= end:
            break
