"""Each operation on a session, each fault of the system, at each step in turn."""

from __future__ import annotations

import random
import sys

import pytest

from tests.conftest import SampleProject
from tests.torture.faults import Fault, Template, attempted, faults, injected
from tests.torture.faults_sessions import HELD, OPERATIONS, Bench, Operation, check_afterwards, check_meanwhile
from tests.torture.seeds import drawn


@pytest.mark.turns(3)
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_a_fault_at_every_step(operation: Operation, project: SampleProject) -> None:
    bench = Bench(project)
    bench.open()
    bench.seed()
    operation.prepare(bench)
    bench.close()
    template, tried, dice = Template(project.root), 0, random.Random(drawn())
    for fault in faults(dice):
        template.copy()
        _attempt(operation, Bench(project, set(HELD)), fault, restart=dice.random() < 0.5)
        tried += bool(fault.hits)
    assert tried > 3
    sys.stdout.write(f"{operation.name}: {tried} faults\n")


def _attempt(operation: Operation, bench: Bench, fault: Fault, restart: bool) -> None:
    """The fault lasts until what was wanted is done or refused, and the store is closed or goes on; then it passes."""
    with injected(fault, bench.project.root):
        bench.open()
        try:
            refused = attempted(lambda: operation.act(bench), fault)
            if refused is None and operation.name != "take in":  # what the app wrote is not asked for, and follows
                bench.sure |= {*operation.sure}
            check_meanwhile(bench, fault)
            if restart:
                bench.close()
                fault.armed = False
                bench.open()
            fault.armed = False
            if refused is not None or operation.always_again:
                again = attempted(lambda: operation.act(bench), Fault(0, 0, False))
                assert again is None, f"{fault}: {again} although all is well again"
            bench.sure |= {*operation.sure}
            for folder in bench.store.catalogue.folders():
                bench.store.sessions.open(folder).reconcile()
        finally:
            fault.armed = False
            bench.close()
    try:
        check_afterwards(bench, operation)
    except AssertionError as error:
        raise AssertionError(f"{fault}, {'restarted' if restart else 'going on'}: {error}") from error
