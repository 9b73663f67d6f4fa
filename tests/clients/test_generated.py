"""The clients are what the table of methods makes of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from clients.generate import files
from dagentd.rpc.methods import METHODS
from dagentd_client.client import Methods
from dagentd_client.connection import Connection

FILES = files()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_each_file_is_as_it_would_be_generated_now(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == FILES[path], "run `python -m clients.generate`"


def test_each_method_is_there() -> None:
    made = Methods(Connection.__new__(Connection))
    count = sum(len([name for name in vars(type(space)) if not name.startswith("_")]) for space in vars(made).values())
    assert count == len(METHODS)
