"""How much of dagentd a reader meets who follows `dagentd show` where no daemon runs."""

from __future__ import annotations

from tests.bench.walks import Walk, measure

MOST = Walk(functions=290, files=53, modules=90)  # 495, 85 and 156 while it opened the project; 180 and 40 are the aim


def test_show_takes_few_steps_where_the_documents_say_all() -> None:
    walk, functions = measure("show")
    assert "rpc/settled.py" in functions and "store/store.py" not in functions
    assert all(taken <= most for taken, most in zip(walk, MOST, strict=True)), walk
