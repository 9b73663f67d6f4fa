"""The log: a file that rotates, or the terminal; it holds no text of sessions."""

from __future__ import annotations

import logging
import sys
import time
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

from dagentd.adapters.files import disk
from dagentd.model import oneline

_LINE = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def to_file(path: Path, level: str, max_bytes: int, files: int) -> None:
    """At most `files` files of `max_bytes`; readable by the user alone, as the umask of the daemon says."""
    with disk.explained(path.parent):
        disk.make_folders(path.parent)
    with disk.explained(path):
        _use(RotatingFileHandler(path, "a", max_bytes, files - 1, encoding="utf-8", errors="replace"), level)


def to_stderr(level: str) -> None:
    _use(logging.StreamHandler(sys.stderr), level)


def set_level(level: str) -> None:
    logging.getLogger("dagentd").setLevel(level.upper())


class _Harmless(logging.Formatter):
    """Names of files and words of git are told in it: a record is one line, and none steers the terminal it is shown
    on. Only a traceback has several."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return oneline.visible(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:
        return "\n".join(map(oneline.visible, super().formatException(ei).split("\n")))


def _use(handler: logging.Handler, level: str) -> None:
    formatter = _Harmless(_LINE)
    formatter.converter = time.gmtime
    formatter.default_msec_format = "%s.%03dZ"
    handler.setFormatter(formatter)
    logging.getLogger("dagentd").handlers = [handler]
    set_level(level)
