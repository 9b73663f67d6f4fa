"""Secrets taken out of text before it leaves the machine, and out of what comes back."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

# Bounded on both sides, because a megabyte of letters and dots must not cost its square.
_NAMED = (
    r"(?<![A-Za-z0-9_.-])[A-Za-z0-9_.-]{0,60}?(?:secret|passw(?:or)?d|passphrase|pwd|token|api[_-]?key|access[_-]?key"
    r"|private[_-]?key|credential|auth[_-]?key)[A-Za-z0-9_.-]{0,60}"
)
_SCHEME = r"\b[a-z][a-z0-9+.-]{1,20}://"
_END = r"-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"

# Kind, and what it looks like: all of the match is the secret, or what is named `value`.
_KINDS = (
    ("private key", rf"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:{_END}|\Z)"),
    ("key", r"\bsk-[A-Za-z0-9_-]{16,}"),  # Anthropic, OpenAI, OpenRouter and others
    ("key", r"\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}"),  # Stripe
    ("key", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b"),  # AWS
    ("key", r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})"),
    ("key", r"\bgl(?:pat|dt|rt|cbt|ptt)-[A-Za-z0-9_-]{16,}"),  # GitLab
    ("key", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bxapp-[A-Za-z0-9-]{10,}"),  # Slack
    ("key", r"\bAIza[A-Za-z0-9_-]{30,}|\bya29\.[A-Za-z0-9_-]{20,}"),  # Google
    ("key", r"\bnpm_[A-Za-z0-9]{30,}|\bpypi-[A-Za-z0-9_-]{40,}|\bhf_[A-Za-z0-9]{30,}"),
    ("key", r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|\bdop_v1_[a-f0-9]{40,}"),  # SendGrid, DigitalOcean
    ("key", r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}"),  # a JWT
    ("token", r"(?P<keep>\b(?:[Bb]earer|[Bb]asic)\s{1,3})(?P<value>[A-Za-z0-9._~+/=-]{16,})"),
    ("password", rf"(?P<keep>{_SCHEME}[^\s:/@\"']{{0,100}}:)(?P<value>[^\s/@\"']{{1,200}})(?=@)"),
    ("token", rf"(?P<keep>{_SCHEME})(?P<value>[A-Za-z0-9_-]{{20,200}})(?=@)"),
    ("token", rf"(?i:(?P<keep>[?&](?:{_NAMED}|key|sig|signature|auth)=)(?P<value>[^\s&#\"'<>]{{6,}}))"),
    (
        "value",
        rf"(?i:(?P<keep>{_NAMED}[\"']?[ \t]{{0,3}}(?::=|=>|=|:)[ \t]{{0,3}})"
        r"(?P<value>\"[^\"\n]{4,}\"|'[^'\n]{4,}'|[^\s\"',;){}\[\]]{6,}))",
    ),
)

# What follows a name like a secret's and is none: a reference, a type, a count, a placeholder.
_HARMLESS = re.compile(
    r"\$|%|<|\{|\[redacted|process\.env|os\.environ|env\(|getenv|(?:none|null|nil|true|false|string|bytes|undefined)\b"
    r"|required\b|optional\b|your[_-]|example|changeme|\.\.\.|\*+$|x+$|[\d_.,]+\s?[kKmM]?$"
    r"|[A-Za-z_]\w*(?:\.\w+)*\(|[A-Za-z_]\w*\.[A-Za-z_.]+$",
    re.IGNORECASE,
)


def redacted(text: str) -> str:
    """The text with each secret replaced by a word for its kind. Twice is the same as once."""
    for kind, pattern in _COMPILED:
        text = pattern.sub(_replacer(kind), text)
    return text


def redacted_value(value: Any) -> Any:
    """The same for every text in a JSON value; the names in it stay."""
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, list):
        return [redacted_value(each) for each in value]
    if isinstance(value, dict):
        return {key: redacted_value(each) for key, each in value.items()}
    return value


def _replacer(kind: str) -> Callable[[re.Match[str]], str]:
    def replace(match: re.Match[str]) -> str:
        found = match.groupdict()
        if "value" not in found:
            return f"[redacted {kind}]"
        if _HARMLESS.match(found["value"].strip("\"'")):
            return match[0]
        return f"{found['keep']}[redacted {kind}]"

    return replace


_COMPILED = tuple((kind, re.compile(pattern)) for kind, pattern in _KINDS)
