"""What is done beside sessions, each fault of the system, at each step in turn."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

from tests.conftest import git
from tests.torture.faults import Fault, Template, attempted, faults, injected
from tests.torture.faults_beside import WORK, Desk, Work
from tests.torture.reader import temps
from tests.torture.seeds import THOROUGH, drawn

IDENTITY = ("-c", "user.name=T", "-c", "user.email=t@example.org")


@pytest.mark.turns(3)
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("work", WORK, ids=lambda work: work.name)
def test_a_fault_at_every_step(work: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(tmp_path / "desk")
    desk.repo.mkdir(parents=True)
    (desk.root / "state").mkdir()
    (desk.root / "home").mkdir()
    monkeypatch.setenv("HOME", str(desk.root / "home"))
    git(desk.repo, "init", "-q", ".")
    git(desk.repo, *IDENTITY, "commit", "-q", "--allow-empty", "-m", "Start")
    work.prepare(desk)
    template, tried, dice = Template(desk.root), 0, random.Random(drawn())
    for fault in faults(dice, each=4 if THOROUGH else 2):
        template.copy()
        _attempt(work, Desk(desk.root), fault)
        tried += bool(fault.hits)
    assert tried
    sys.stdout.write(f"{work.name}: {tried} faults\n")


def _attempt(work: Work, desk: Desk, fault: Fault) -> None:
    with injected(fault, desk.root):
        refused = attempted(lambda: work.act(desk), fault)
        fault.armed = False
        try:
            work.meanwhile(desk)
            again = attempted(lambda: work.act(desk), Fault(0, 0, False)) if refused is not None else None
            assert again is None, f"{again} although all is well again"
            work.afterwards(desk)
            assert [name for name in temps(desk.root) if "lock" in name] == []
        except AssertionError as error:
            raise AssertionError(f"{fault}, told as {refused}: {error}") from error
