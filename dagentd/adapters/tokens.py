"""How many tokens a text has by the vocabulary that ships with dagentd, before any calibration."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import re
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tiktoken

_VOCABULARY = Path(__file__).parent.parent / "vocabulary"

# tiktoken 0.14 panics, with a BaseException, on a million spaces before a word, and a million of one letter take it
# 47 MB more and three times as long as they do in pieces of this size. A cut after a letter or digit and before
# punctuation or white space, or after a line end and before text, is where cl100k_base cuts anyway, so the count is
# that of the whole; only in a run without such a place does a cut add a token or so.
_PIECE = 16_384
_PIECES = re.compile(
    rf".{{1,{_PIECE}}}+\Z|.{{0,{_PIECE - 1}}}(?:[0-9A-Za-z](?=[\s!-/])|\n(?=\S))|.{{1,{_PIECE}}}", re.DOTALL
)

# By digest, so that a text is tokenised once however often it is asked for, and is not kept alive by that.
_REMEMBERED = 8_192  # 1 MB; 300 worktrees with their last commits and files are a fifth of it
_remembered: dict[bytes, int] = {}
_lock = threading.Lock()


def count(text: str) -> int:
    """Half an emoji, which chats contain, becomes three bytes here; tiktoken puts the three of U+FFFD there."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    tokens = _remembered.get(digest)
    if tokens is None:
        encode = _encoding().encode_ordinary
        tokens = sum(len(encode(piece.group())) for piece in _PIECES.finditer(text))
        with _lock:
            if len(_remembered) >= _REMEMBERED:
                del _remembered[next(iter(_remembered))]
            _remembered[digest] = tokens
    return tokens


def upper_bound(text: str) -> int:
    """A token is at least one byte: enough for most questions, and the vocabulary (49 MB) stays unloaded."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


@functools.cache
def _encoding() -> tiktoken.Encoding:
    """tiktoken's registry has the lock that makes threads load the vocabulary once."""
    import tiktoken

    if importlib.util.find_spec("tiktoken_ext.dagentd_vocabulary") is None:
        # A source tree that was not installed: the plug-in is still in our own folder.
        sys.path.append(str(_VOCABULARY))
    return tiktoken.get_encoding("dagentd_cl100k_base")
