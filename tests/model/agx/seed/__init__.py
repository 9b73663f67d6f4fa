"""The examples of agx-storage-format.md, word for word; of the global configuration the one damaged line is mended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def example(name: str) -> dict[str, Any]:
    found = json.loads((Path(__file__).parent / f"{name}.json").read_text())
    assert isinstance(found, dict)
    return found
