"""Secrets taken out of text before it leaves the machine, and out of what comes back."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from dagentd.model.secret_shapes import KINDS, NAMED

# What follows a name like a secret's and is none: a reference, a type, a placeholder.
_HARMLESS = re.compile(
    r"\$|%|<|\{|\[redacted|process\.env|os\.environ|env\(|getenv|(?:none|null|nil|true|false|string|bytes|undefined)\b"
    r"|(?:number|boolean|integer|object|unknown|required|optional)\b|your[_-]|example|changeme|\.\.\.|\*+$|x+$"
    r"|[A-Za-z_]\w*(?:\.\w+)*\(|[A-Za-z_]\w*\.[A-Za-z_.]+$",
    re.IGNORECASE,
)
# So many tokens or minutes, a version, an id.
_COUNT = re.compile(
    r"[\d_.,]+\s?(?:[kKmM]|ms|s|min|h|d|seconds|minutes|hours|days)?$|[v^~<>=]{0,2}\d+(?:\.\d+){1,3}(?:-[a-z\d.]{1,12})?$"
)
_UUID = re.compile(r"[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$", re.IGNORECASE)
_PLACE = re.compile(
    r"(?:~|\.{0,2})/(?:[\w.@-]{1,23}/)*[\w.@-]{0,23}$|https?://[^\s:@?#]{1,200}$|[\w./-]{1,80}\.(?:c|css|env|go|h|html|java|js"
    r"|json|key|md|pem|py|rb|rs|sh|toml|tsx?|txt|ya?ml)$",
)
_ABOUT = re.compile(
    r"(?:name|url|uri|path|file|dir|header|field|type|command|process|policy|expir[a-z]*|lifetime|ttl)$", re.IGNORECASE
)
_SECRET_ITSELF = re.compile(r"(?:secret|passw(?:or)?d|passphrase|pwd)$", re.IGNORECASE)
_MOSTLY_WORDS = re.compile(r"token|credential", re.IGNORECASE)  # `token = response`, `credentials: include`
_NAME = re.compile(rf"(?i:{NAMED}|(?:proxy-)?authorization|(?:set-)?cookie)")


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
        if "proof" in found and found["proof"] is None:
            return match[0]
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
    if name and (_PLACE.match(value) or _ABOUT.search(name) or (_UUID.match(value) and name.endswith("_KEY"))):
        return True
    if _COUNT.match(value):
        return not _SECRET_ITSELF.search(name)
    if not value.isidentifier() or not value.replace("_", "").isalpha() or name.isupper():
        return False
    return bool(_MOSTLY_WORDS.search(name)) or (value == written and value[0].isupper())  # a word, or a type


_COMPILED = tuple((kind, re.compile(pattern)) for kind, pattern in KINDS)
