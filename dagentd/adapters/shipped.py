"""Files that ship beside the code: in the wheel inside the package, in the source tree next to it."""

from __future__ import annotations

from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path


def text(folder: str, name: str) -> str:
    return (_place(folder) / name).read_text(encoding="utf-8")


def texts(folder: str) -> dict[str, str]:
    """All files of a folder and of those below it, by their paths from there."""
    return _below(_place(folder), "")


def _place(folder: str) -> Traversable:
    """An editable installation has no copy in the package: hatchling's force-include is for wheels."""
    packed = resources.files("dagentd") / folder
    return packed if packed.is_dir() else Path(__file__).parents[2] / folder


def _below(folder: Traversable, way: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in folder.iterdir():
        if each.is_dir():
            found |= _below(each, f"{way}{each.name}/")
        else:
            found[way + each.name] = each.read_text(encoding="utf-8")
    return found
