"""The shop, served by a daemon, with the page open."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dagentd.cli.sample import Sample
from tests.e2e.daemon import Daemon
from tests.e2e.daemon import daemon as daemon
from tests.web.shop import furnish
from tests.web.site import Site, served


@pytest.fixture
def shop(tmp_path: Path, daemon: Daemon) -> Sample:
    return furnish(tmp_path, daemon)


@pytest.fixture
def site(shop: Sample) -> Iterator[Site]:
    with served() as site:
        yield site
