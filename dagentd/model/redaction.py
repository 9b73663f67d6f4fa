"""Secrets taken out of text before it leaves the machine, and out of what comes back."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

# Bounded on both sides, because a megabyte of letters and dots must not cost its square.
_SOME = r"[A-Za-z0-9_.-]{0,60}"
_WORD = (
    r"(?:secret|passw(?:or)?d|passphrase|pwd|credential|token(?!i[sz])|(?:api|access|private|auth|account)[_-]?key)"
)
_NAMED = rf"(?<![A-Za-z0-9_./-]){_SOME}?{_WORD}{_SOME}"
_SCHEME = r"\b[a-z][a-z0-9+.-]{1,20}://"
_BEGIN = r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
_END = r"-----END (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
_QUOTED = r"\\\"[^\"\\\n]{4,}\\\"|\"[^\"\n]{4,}\"|'[^'\n]{4,}'|`[^`\n]{4,}`"

# Kind, and what it looks like: all of the match is the secret, or what is named `value`.
_KINDS = (
    ("private key", rf"{_BEGIN}(?:(?!-----BEGIN)[\s\S]){{0,20000}}?{_END}"),
    ("private key", rf"{_BEGIN}(?:(?:[\s\"'+,]|\\[nr]){{1,20}}[A-Za-z0-9+/=]{{16,}})+"),  # whose end was cut off
    ("key", r"\bsk-[A-Za-z0-9_-]{16,}"),  # Anthropic, OpenAI, OpenRouter and others
    ("key", r"\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}|\bwhsec_[A-Za-z0-9+/=]{20,}"),  # Stripe
    ("key", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b"),  # AWS
    ("key", r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})"),
    ("key", r"\bgl(?:pat|dt|rt|cbt|ptt)-[A-Za-z0-9_-]{16,}"),  # GitLab
    ("key", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bxapp-[A-Za-z0-9-]{10,}"),  # Slack
    ("key", r"\bhooks\.slack\.com/services/[A-Za-z0-9/_-]{20,}|\bdiscord(?:app)?\.com/api/webhooks/[\w/-]{20,}"),
    ("key", r"\bAIza[A-Za-z0-9_-]{30,}|\bya29\.[A-Za-z0-9_-]{20,}"),  # Google
    ("key", r"\bnpm_[A-Za-z0-9]{30,}|\bpypi-[A-Za-z0-9_-]{40,}|\bhf_[A-Za-z0-9]{30,}|\bdckr_pat_[A-Za-z0-9_-]{20,}"),
    ("key", r"\bgsk_[A-Za-z0-9]{20,}|\bxai-[A-Za-z0-9]{20,}|\br8_[A-Za-z0-9]{20,}"),  # Groq, xAI, Replicate
    ("key", r"\bhvs\.[A-Za-z0-9_-]{20,}|\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}|\bAGE-SECRET-KEY-1[A-Z0-9]{20,}"),
    ("key", r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|\bdop_v1_[a-f0-9]{40,}"),  # SendGrid, DigitalOcean
    ("key", r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}"),  # a JWT
    ("token", r"(?P<keep>\b(?:[Bb]earer|[Bb]asic)\s{1,3})(?P<value>[A-Za-z0-9._~+/=-]{16,})"),
    ("token", r"(?i:(?P<keep>\bauthorization[\"']?\s?[:=]\s?[\"']?(?:[a-z]{1,20}\s)?)(?P<value>[^\s\"'\[]{10,}))"),
    ("cookie", r"(?i:(?P<keep>\b(?:set-)?cookie[\"']?\s?:\s?[\"']?)(?P<value>[\w.-]{1,60}=[^\n\"']{6,}))"),
    ("password", rf"(?P<keep>{_SCHEME}[^\s:/@\"']{{0,100}}:)(?P<value>[^\s/@\"']{{1,200}})(?=@)"),
    ("token", rf"(?P<keep>{_SCHEME})(?P<value>[A-Za-z0-9_-]{{20,200}})(?=@)"),
    ("token", rf"(?i:(?P<keep>[?&](?:{_NAMED}|key|sig|signature|auth)=)(?P<value>[^\s&#\"'<>]{{6,}}))"),
    ("password", r"(?P<keep>\blogin\s{1,9}\S{1,100}\s{1,9}password\s{1,9})(?P<value>\S{4,})"),  # in .netrc
    ("value", rf"(?i:(?P<keep>(?<!\S)--{_SOME}?{_WORD}[ \t]{{1,3}})(?P<value>(?=\S*\d)[^\s\"'-]\S{{5,200}}))"),
    (
        "value",
        rf"(?i:(?P<keep>(?P<name>{_NAMED})\\?[\"']?[ \t]{{0,3}}(?::=|=>|=(?!=)|:(?!:))[ \t]{{0,3}})"
        rf"(?P<value>{_QUOTED}|[^\s\"'`,;){{}}\[\]<>]{{6,}}))",
    ),
)

# What follows a name like a secret's and is none: a reference, a type, a placeholder.
_HARMLESS = re.compile(
    r"\$|%|<|\{|\[redacted|process\.env|os\.environ|env\(|getenv|(?:none|null|nil|true|false|string|bytes|undefined)\b"
    r"|(?:number|boolean|integer|object|unknown|required|optional)\b|your[_-]|example|changeme|\.\.\.|\*+$|x+$"
    r"|[A-Za-z_]\w*(?:\.\w+)*\(|[A-Za-z_]\w*\.[A-Za-z_.]+$",
    re.IGNORECASE,
)
_COUNT = re.compile(r"[\d_.,]+\s?[kKmM]?$")
_SECRET_ITSELF = re.compile(r"(?:secret|passw(?:or)?d|passphrase|pwd)$", re.IGNORECASE)
_MOSTLY_WORDS = re.compile(r"token|credential", re.IGNORECASE)  # `token = response`, `credentials: include`
_NAME = re.compile(rf"(?i:{_NAMED}|(?:proxy-)?authorization|(?:set-)?cookie)")


def redacted(text: str) -> str:
    """The text with each secret replaced by a word for its kind. Twice is the same as once."""
    for kind, pattern in _COMPILED:
        text = pattern.sub(_replacer(kind), text)
    return text


def redacted_value(value: Any) -> Any:
    """The same for every text in a JSON value, where the name of a field also says what is in it."""
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, list):
        return [redacted_value(each) for each in value]
    if isinstance(value, dict):
        named = value.get("name")  # as in {"name": "API_TOKEN", "value": "..."}
        return {
            redacted(key): _of_field(named if key == "value" and isinstance(named, str) else key, each)
            for key, each in value.items()
        }
    return value


def _of_field(name: str, value: Any) -> Any:
    if isinstance(value, list):
        return [_of_field(name, each) for each in value]
    if isinstance(value, str) and len(value) >= 4 and _NAME.fullmatch(name) and not _harmless(name, value):
        return "[redacted value]"
    return redacted_value(value)


def _replacer(kind: str) -> Callable[[re.Match[str]], str]:
    def replace(match: re.Match[str]) -> str:
        found = match.groupdict()
        if "value" not in found:
            return f"[redacted {kind}]"
        if _harmless(found.get("name") or "", found["value"]):
            return match[0]
        return f"{found['keep']}[redacted {kind}]"

    return replace


def _harmless(name: str, written: str) -> bool:
    value = written.strip("\"'`\\")
    if _HARMLESS.match(value) or (" " in value and _MOSTLY_WORDS.search(name)):
        return True
    if _COUNT.match(value):
        return not _SECRET_ITSELF.search(name)
    if not value.isidentifier() or not value.replace("_", "").isalpha() or name.isupper():
        return False
    return bool(_MOSTLY_WORDS.search(name)) or (value == written and value[0].isupper())  # a word, or a type


_COMPILED = tuple((kind, re.compile(pattern)) for kind, pattern in _KINDS)
