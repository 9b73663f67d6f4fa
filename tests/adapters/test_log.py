"""The log: one line a record, and nothing in it that a terminal obeys."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dagentd.adapters import log


@pytest.fixture(autouse=True)
def unchanged() -> Iterator[None]:
    logger = logging.getLogger("dagentd")
    handlers, level = logger.handlers, logger.level
    yield
    for each in logger.handlers:
        each.close()
    logger.handlers, logger.level = handlers, level


def test_names_from_outside_neither_break_a_line_nor_steer_a_terminal(tmp_path: Path) -> None:
    log.to_file(tmp_path / "log", "info", 100_000, 2)
    logging.getLogger("dagentd.store").warning("%s: odd", "a\nb\x1b[2J\x9b\u202e")
    try:
        raise ValueError("c\x1b[2J\nd")
    except ValueError:
        logging.getLogger("dagentd.store").exception("a bug")
    first, *rest = (tmp_path / "log").read_text().splitlines()
    assert first.endswith(r"WARNING dagentd.store: a\nb\x1b[2J\x9b\u202e: odd")
    assert rest[-2:] == [r"ValueError: c\x1b[2J", "d"]


_WITHOUT_DESCRIPTORS = """
import logging, resource
from dagentd.adapters import log
log.to_stderr("info")
resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
logging.getLogger("dagentd.store").error("a bug\\n%s", "where it was")
"""


def test_a_bug_is_told_when_no_descriptor_is_left() -> None:
    done = subprocess.run([sys.executable, "-c", _WITHOUT_DESCRIPTORS], capture_output=True, text=True, check=True)
    assert done.stderr.endswith("ERROR dagentd.store: a bug\\nwhere it was\n"), done.stderr
