"""tiktoken's plug-in for the vocabulary that ships with dagentd; installing puts it beside tiktoken's own."""

from __future__ import annotations

import base64
import hashlib
from importlib import resources
from typing import Any

from dagentd.errors import CorruptFile

_SHA256 = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"

# How cl100k_base cuts text before it looks for tokens: from tiktoken_ext.openai_public of tiktoken 0.14 (MIT).
_PATTERN = (
    r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"""
    r"""|\s++$|\s*[\r\n]|\s+(?!\S)|\s"""
)


def cl100k_base() -> dict[str, Any]:
    return {
        "name": "dagentd_cl100k_base",
        "pat_str": _PATTERN,
        "mergeable_ranks": _ranks(),
        "special_tokens": {},
    }


def _ranks() -> dict[bytes, int]:
    """Parsed here because tiktoken's own loader copies even a local file into a cache in the temp folder."""
    lines = _checked().splitlines()
    return {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, lines)}


def _checked() -> bytes:
    file = resources.files("dagentd.vocabulary") / "cl100k_base.tiktoken"
    data = file.read_bytes()
    if hashlib.sha256(data).hexdigest() != _SHA256:
        raise CorruptFile("is not the vocabulary that dagentd ships", path=str(file), hint="Install dagentd again.")
    return data


ENCODING_CONSTRUCTORS = {"dagentd_cl100k_base": cl100k_base}
