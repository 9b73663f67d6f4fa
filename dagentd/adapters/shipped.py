"""Files that ship beside the code: in the wheel inside the package, in the source tree next to it."""

from __future__ import annotations

from importlib import resources
from pathlib import Path


def text(folder: str, name: str) -> str:
    """An editable installation has no copy in the package: hatchling's force-include is for wheels."""
    packed = resources.files("dagentd") / folder / name
    if packed.is_file():
        return packed.read_text(encoding="utf-8")
    return (Path(__file__).parents[2] / folder / name).read_text(encoding="utf-8")
