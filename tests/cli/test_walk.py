"""How much of dagentd a reader meets who follows a message to its documents, a commit to its context, or `dagentd show`
where no daemon runs."""

from __future__ import annotations

import pytest

from tests.bench.walks import Walk, measure


@pytest.mark.parametrize(
    ("kind", "by", "most"),
    [
        ("show", "rpc/settled.py", Walk(functions=180, files=40, modules=90)),  # 495, 85, 156 if it opens the project
        ("addMessage", "store/journal/journal.py", Walk(functions=150, files=35, modules=210)),
        ("commit", "jobs/context/__init__.py", Walk(functions=180, files=40, modules=210)),
    ],
)
def test_a_walk_takes_few_steps(kind: str, by: str, most: Walk) -> None:
    walk, functions = measure(kind)
    assert all(taken <= limit for taken, limit in zip(walk, most, strict=True)), walk
    assert by in functions and "store/store.py" not in functions
    assert "jobs/archive.py" not in functions, "nothing ends by a commit"
