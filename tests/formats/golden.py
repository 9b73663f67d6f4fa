"""What the golden pairs are written with: literal entries in, literal messages out, ids as journal.md derives them."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from dagentd.formats import legacy
from dagentd.formats.legacy import Converted


def converted(path: str, raw: Any, shape: str, feature: str = "auth") -> Converted:
    source = legacy.source_at(path, feature)
    assert source is not None
    if shape != "L5":
        assert legacy.recognise(raw, source) == shape
    return legacy.convert(raw, shape, source)


def x(path: str, role: Any, timestamp: Any, content: Any, ordinal: int = 0) -> str:
    """journal.md, "Identity", written down a second time on purpose: these ids are in users' journals."""
    text = json.dumps([path, role, timestamp, content, ordinal], ensure_ascii=False)
    return "x-" + hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:32]
