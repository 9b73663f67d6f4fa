"""The folders and files of a checkout as an indented tree, one a line."""

from __future__ import annotations

from collections.abc import Iterable


def tree(paths: Iterable[str], left_out: int) -> str:
    """`paths` go depth first, have no line ends in them, and those of folders end in `/`."""
    lines = [_line(path) for path in paths]
    if left_out:
        lines.append(f"[{left_out} more left out]")
    return "\n".join(lines)


def _line(path: str) -> str:
    bare = path.removesuffix("/")
    return "  " * bare.count("/") + bare.rpartition("/")[2] + "/" * path.endswith("/")
