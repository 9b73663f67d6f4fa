"""Finding the session that a call is about, while projects are opened anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from dagentd.errors import NotFound
from dagentd.rpc.params import OfSession
from dagentd.rpc.service import Caller, Service
from dagentd.store.journal.index import Index
from dagentd.store.store import Store
from tests.store.place import PM, Place


class Serving:
    """Projects as they are at each question: the last answer stays."""

    def __init__(self, *answers: list[Store]) -> None:
        self._answers = list(answers)

    def stores(self) -> list[Store]:
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


def test_a_store_that_was_closed_in_this_moment_is_asked_for_again(tmp_path: Path) -> None:
    place = Place(tmp_path / "repo").make()
    old = Store(place.project, Index(None), read_only=True)
    with place.store() as new:
        new.maker.get_or_create("feature", "pm", "feat-login").add([{"role": "user", "content": "Hi"}])
        old.close()
        service = cast(Service, cast(Any, Serving([old], [new])))
        asked = OfSession.model_validate({"sessionId": PM})
        with Caller(service, lambda *_: True).session(asked) as (store, session):
            assert store is new and session.messages()[1] == 1
        service = cast(Service, cast(Any, Serving([old])))
        with (
            pytest.raises(NotFound, match="no longer served"),
            Caller(service, lambda *_: True).session(asked),
        ):
            raise AssertionError("a closed store gave a session")
