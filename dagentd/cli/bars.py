"""A share as a bar: in eighths of a character where the terminal has them, else by signs that every one has."""

from __future__ import annotations

_EIGHTHS = "▏▎▍▌▋▊▉"


def bar(share: float, width: int, *, plain: bool = False) -> str:
    """Always `width` wide; what is there shows, and only what is full looks full."""
    part = min(max(share, 0.0), 1.0) * width
    whole, eighths = int(part), int(part % 1 * 8)
    if plain:
        whole = max(whole, int(share > 0))
        return ("#" * whole + "." * (width - whole))[:width]
    if share > 0 and whole == eighths == 0 < width:
        eighths = 1
    drawn = "█" * whole + (_EIGHTHS[eighths - 1] if eighths else "")
    return drawn + "·" * (width - len(drawn))


def colour(share: float) -> str:
    """By the levels at which `session:budget` warns: 75 and 90 %."""
    return "red" if share >= 0.9 else "yellow" if share >= 0.75 else "green"
