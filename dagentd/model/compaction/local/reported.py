"""Errors that somebody reports in words or pastes: the line itself, verbatim."""

from __future__ import annotations

import re

from dagentd.model.compaction.local import phrases, prose
from dagentd.model.compaction.local.failures import ERROR

_MOST = 3  # of one message: a pasted log repeats itself
# In prose a name of an error is often only talked about; a message of one has a colon or a code.
_MESSAGE = re.compile(
    r"\b[A-Z]\w*(?:Error|Exception|Fault|Panic)\b\s*[:(]|\b[Ee]rror(?:\[\w+\])?(?: [A-Z]+-?\d+)?:|\bERROR\b"
    r"|\bFATAL\b|\bfatal:|\bpanic:|\bE[A-Z]{5,}\b|\bERR_[A-Z_]+|npm ERR!|\berror [A-Z]{1,4}\d{2,}|\bSIG(?:SEGV"
    r"|KILL|ABRT)\b|segmentation fault"
    r"|\bfail(?:s|ed|ing)? with\b|\bexit(?:ed with)? (?:code|status) [1-9]"
)


_HINT = re.compile(r"rror|xception|[A-Z]{4}|fatal|panic|fail|exit|Fault|segmentation")


def errors(words: str, first_only: bool = False) -> list[str]:
    """The lines or sentences that are one, without what only repeats."""
    lines = [flat for line in prose.ends_of(words).splitlines() if (flat := " ".join(line[:2000].split()))]
    found: dict[str, str] = {}
    for line in lines[:1] if first_only else lines:
        if (
            _HINT.search(line)
            and _MESSAGE.search(line)
            and ERROR.search(line)
            and not phrases.STEERING.search(line.lower())
        ):
            sentence = next((one for one in _sentences(line) if _MESSAGE.search(one)), line)
            found.setdefault(re.sub(r"\d+", "0", sentence), sentence)
        if len(found) == _MOST:
            break
    return list(found.values())


def _sentences(line: str) -> list[str]:
    return [one.text for one in prose.sentences(line)]
