"""Some chaos (`make torture` has more), and that the pieces which judge it can find something."""

from __future__ import annotations

import json
import random
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.messages_api import MESSAGES, MessagesApi, Seen
from tests.torture import chaos, picture
from tests.torture.chaos.api import BADLY, OUTCOMES, Api
from tests.torture.chaos.samples import Samples
from tests.torture.chaos.table import table
from tests.torture.seeds import drawn

_LAST_WORDS = 5000  # characters of the daemon's log


@pytest.mark.early
@pytest.mark.timeout(1800)
def test_nothing_is_lost_in_chaos(record_property: Callable[[str, object], None]) -> None:
    seed = drawn()
    outcome = chaos.run(seed, short=True)
    truth, answers = outcome.truth, outcome.answers
    assert not outcome.complaints, f"{table(outcome)}again: make torture SEED={seed}\n{outcome.log[-_LAST_WORDS:]}"
    assert len(truth.acknowledged) > 20, table(outcome)
    met = f"{answers.total()} calls of the API, {len(BADLY.keys() & answers.keys())} ways in which it failed"
    said = f"{len(truth.acknowledged)} messages acknowledged, none lost"
    record_property("told", f"chaos: TORTURE_SEED={seed} held; {said}; {truth.done['kill -9']} × kill -9; {met}")


def test_a_call_that_is_not_in_the_ledger_or_over_the_cap_is_complained_of(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.jsonl"
    with MessagesApi() as server:
        server.release()
        api = Api(server, ledger, random.Random(1))
        for _ in range(2):
            server.answer(Seen("POST", MESSAGES, {}, None))
        ledger.write_text('{"t": "call", "id": "a"}\n{"t": "call", "i\n')  # the second one never became a record
        assert api.over(allowed=2) == ["2 calls to the model were made, 1 are in the ledger"]
        ledger.write_text('{"t": "call", "id": "a"}\n{"t": "call", "id": "b"}\n')
        assert api.over(allowed=2) == [] and api.over(allowed=1) == ["2 calls to the model, 1 are allowed"]


def test_the_api_fails_in_all_its_ways_before_any_comes_again(tmp_path: Path) -> None:
    """Until the daemon has them in its ledger: those that it met in a life that ended do not count."""
    ledger = tmp_path / "ledger.jsonl"
    with MessagesApi() as server:
        server.release()
        api = Api(server, ledger, random.Random(1))
        server.answer(Seen("POST", MESSAGES, {}, None))
        api.all_again()
        assert len(api.unmet()) == len(BADLY) + len(OUTCOMES)
        while set(api.unmet()) & BADLY.keys():
            server.answer(Seen("POST", MESSAGES, {}, None))
        assert max(api.given[way] for way in BADLY) <= 2
        told = [{"t": "end", "id": name, "outcome": name} for name in OUTCOMES - {"slow"}]
        ledger.write_text("".join(json.dumps(record) + "\n" for record in told))
        assert api.unmet() == ["'slow' in the ledger"]


def test_a_picture_is_whole() -> None:
    samples = Samples(began=time.monotonic() - 10)
    samples.memory += [(0.5, 7, 40.0), (1.0, 7, 42.0), (2.0, 8, 41.0)]
    samples.latency += [(0.7, 1.5), (1.7, 300.0)]
    samples.mark("kill")
    samples.span("disk full", 0.2)
    drawn = ElementTree.fromstring(picture.svg(samples, "a < b & c"))
    lines = drawn.findall("{http://www.w3.org/2000/svg}polyline")
    assert [len(line.attrib["points"].split()) for line in lines] == [2, 1], "one line for each process"
    texts = [each.text for each in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[0] == "a < b & c" and "disk full" in texts
