"""What a setting may be: each function gives a dataclass field with its default and its rule."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import field
from typing import Any, NamedTuple


class Rule(NamedTuple):
    """`about` says what is set; `allowed` ends the sentence "it must be ..."; `kept` is how the value is held."""

    about: str
    holds: Callable[[Any], bool]
    allowed: str
    kept: Callable[[Any], Any]


def switch(default: bool, about: str) -> Any:
    return _ruled(about, default, lambda value: isinstance(value, bool), "true or false")


def count(default: int, low: int, high: int, about: str) -> Any:
    def holds(value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high

    return _ruled(about, default, holds, f"a whole number from {low} to {high}")


def share(default: float, about: str) -> Any:
    def holds(value: Any) -> bool:
        return _is_number(value) and 0 < value <= 1

    return _ruled(about, default, holds, "a number above 0 and up to 1", float)


def choice(default: str, *others: str, about: str) -> Any:
    choices = (default, *others)
    return _ruled(about, default, lambda value: value in choices, " or ".join(f'"{each}"' for each in choices))


def auto_or_number(low: float, high: float, about: str) -> Any:
    def holds(value: Any) -> bool:
        return value == "auto" or (_is_number(value) and low <= value <= high)

    return _ruled(about, "auto", holds, f'"auto" or a number from {low} to {high}')


def text(default: str, pattern: str, allowed: str, about: str) -> Any:
    return _ruled(about, default, lambda value: _matches(pattern, value), allowed)


def texts(default: tuple[str, ...], pattern: str, allowed: str, about: str) -> Any:
    def holds(value: Any) -> bool:
        return isinstance(value, list) and all(_matches(pattern, each) for each in value)

    return _ruled(about, default, holds, allowed, tuple)


def _ruled(
    about: str, default: Any, holds: Callable[[Any], bool], allowed: str, kept: Callable[[Any], Any] = lambda x: x
) -> Any:
    return field(default=default, metadata={"rule": Rule(about, holds, allowed, kept)})


def _matches(pattern: str, value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(pattern, value, re.ASCII) is not None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
