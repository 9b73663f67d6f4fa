"""How much of dagentd a reader meets who follows a message to its documents, a commit to its context, or `dagentd show`
where no daemon runs."""

from __future__ import annotations

import pytest

from tests.bench.walks import Walk, measure


@pytest.mark.parametrize(
    ("kind", "most"),
    [
        ("show", Walk(functions=180, files=40, modules=90)),  # 495, 85 and 156 while it opened the project
        ("addMessage", Walk(functions=150, files=35, modules=210)),
        ("commit", Walk(functions=180, files=40, modules=210)),
    ],
)
def test_a_walk_takes_few_steps(kind: str, most: Walk) -> None:
    walk, functions = measure(kind)
    assert all(taken <= limit for taken, limit in zip(walk, most, strict=True)), walk
    read = "rpc/settled.py" in functions, "store/store.py" in functions
    assert "jobs/archive.py" not in functions, "nothing ends by a commit"
    assert read == (kind == "show", False), "of what is as we left it, the documents say all"
