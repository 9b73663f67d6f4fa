"""What the daemon says is wrong, of all that its parts say."""

from __future__ import annotations

from typing import Any, cast

import pytest

from dagentd.doctor import examination
from dagentd.errors import NotAllowed
from dagentd.model.problem import Problem
from dagentd.serving.status import Status


class Part:
    def __init__(self, *problems: tuple[str, str]) -> None:
        self._problems = [Problem(kind, "permission denied", path, "", "") for kind, path in problems]

    def problems(self) -> list[Problem]:
        return self._problems


def test_a_folder_that_is_closed_is_told_of_once() -> None:
    """It cannot be watched either."""
    watching, projects = Part(("watch-refused", "/shop/a"), ("watch-refused", "/shop/b")), Part(("folder", "/shop/a"))
    nothing = cast(Any, None)
    condition = Status(nothing, nothing, (watching, projects))
    told = [(problem.id, problem.path) for problem in condition.problems()]
    assert told == [("watch-refused", "/shop/b"), ("folder", "/shop/a")]


def test_also_where_the_doctor_saw_it_first(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = Part(("watch-refused", "/shop/a")).problems()
    monkeypatch.setattr(examination, "ask", lambda: examination.Answer(problems=refused))
    monkeypatch.setattr(examination, "_findings", lambda _: iter([("folder", NotAllowed("closed", path="/shop/a"))]))
    assert [problem.id for problem in examination.examine()[1]] == ["folder"]
