"""Names and sentences from outside, as one harmless line: nothing in it breaks the line or steers a terminal."""

from __future__ import annotations

import re

# Controls, line and paragraph separators, what turns the direction of text, and surrogates, which no encoding holds.
_UNFIT = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    """The text with each such character as its escape; a byte that was no text as `\\xe9`."""
    return _UNFIT.sub(_escape, text)


def cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _escape(match: re.Match[str]) -> str:
    """By `ascii`, which needs no codec: one loads with its first use, and the log must not need a descriptor."""
    code = ord(match[0])
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else ascii(match[0])[1:-1]
