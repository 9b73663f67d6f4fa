"""docs/promises.md names each promise with the tests that prove it: every promise is there, and every test is."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.readme import PROMISES, README

ROOT = README.parent
_NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
_ROW = re.compile(r"^\| \*\*P(\d+) [^|]+\| [^|]+\| (?P<tests>[^|]+) \|$", re.MULTILINE)


def section() -> str:
    return PROMISES.read_text(encoding="utf-8").split("## The promises\n")[1].split("\n## ")[0]


def test_every_promise_is_there_with_at_least_one_test() -> None:
    rows = list(_ROW.finditer(section()))
    assert [int(row[1]) for row in rows] == list(range(1, 14))
    assert all(_NAMED.search(row["tests"]) for row in rows)


@pytest.mark.parametrize(("file", "name"), _NAMED.findall(section()))
def test_every_test_that_is_named_is_there(file: str, name: str) -> None:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_no_test_is_named_without_its_file() -> None:
    assert len(_NAMED.findall(section())) == len(re.findall("::", section()))
    assert all(Path(ROOT, file).exists() for file, _ in _NAMED.findall(section()))
