"""A minute of chaos, and that the pieces which judge it can find something."""

from __future__ import annotations

import os
import random
import re
import time
import xml.etree.ElementTree as ElementTree

import pytest

from tests.torture import chaos, picture
from tests.torture.chaos.samples import Samples
from tests.torture.chaos.table import table


@pytest.mark.timeout(900)
def test_nothing_is_lost_in_chaos() -> None:
    seed = int(os.environ.get("TORTURE_SEED") or random.randrange(1 << 32))
    outcome = chaos.run(seed)
    told = table(outcome)
    # Issue 8 is open: of all other complaints a run of five or so still has one, and only `make torture` fails for it.
    grave = [each for each in outcome.complaints if re.match(r"\d+ (lost|doubled|unparsable)", each)]
    assert not grave, f"{told}again: make torture SEED={seed}"
    assert len(outcome.truth.acknowledged) > 100 and outcome.truth.done["kill -9"] > 1, told


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
