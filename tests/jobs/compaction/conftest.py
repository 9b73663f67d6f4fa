"""A session to compact and a model to ask."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dagentd.jobs.compaction import asking
from tests.jobs.compaction.conversing import Conversing, directly
from tests.messages_api import MessagesApi
from tests.store.place import Place
from tests.warm import let_sdk_be_warm


@pytest.fixture
def api() -> Iterator[MessagesApi]:
    with MessagesApi() as server:
        yield server


@pytest.fixture
def cold() -> None:
    """The SDK is loaded for each call, as in real life."""


@pytest.fixture(autouse=True)
def warm(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "cold" not in request.fixturenames:
        let_sdk_be_warm(monkeypatch)


@pytest.fixture
def conversing(tmp_path: Path, api: MessagesApi, monkeypatch: pytest.MonkeyPatch) -> Iterator[Conversing]:
    monkeypatch.setenv("DAGENTD_API_KEY", "the-key")
    with Place(tmp_path / "place").make().session() as session:
        yield Conversing(session, api, tmp_path / "ledger.jsonl")


@pytest.fixture
def direct(api: MessagesApi, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model is asked without a process between."""
    monkeypatch.setattr(asking, "chosen", lambda _: directly(api))
