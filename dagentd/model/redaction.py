"""Secrets taken out of text before it leaves the machine, and out of what comes back."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from dagentd.model import secret_places as places
from dagentd.model import secret_shapes as shapes

Span = tuple[int, int, str]  # of a secret, and its kind

# What follows a name like a secret's and is none: a reference, a type, a placeholder.
_HARMLESS = re.compile(
    r"\$|%|<|\{|![a-z]+$|op://|\[redacted|process\.env|os\.environ|env\(|getenv"
    r"|(?:none|null|nil|true|false|string|bytes|undefined|number|boolean|integer|object|unknown|required|optional)\b|your[_-]|example|changeme|\.\.\.|\*+$|x+$"
    r"|[A-Za-z_]\w*(?:\??\.\w+)*\(|[A-Za-z_]\w*\.[A-Za-z_.]+$",
    re.IGNORECASE,
)
# So many tokens or minutes, a version, an id.
_COUNT = re.compile(
    r"[\d_.,]+\s?(?:[kKmM]|ms|s|min|h|d|seconds|minutes|hours|days)?$|[v^~<>=]{0,2}\d+(?:\.\d+){1,3}(?:-[a-z\d.]{1,12})?$"
)
_UUID = re.compile(r"[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$", re.IGNORECASE)
_PLACE = re.compile(
    r"(?:~|\.{0,2})/(?:[\w.@-]{1,23}/)*[\w.@-]{0,23}$|https?://[^\s:@?#]{1,200}$|[a-z]{2,20}(?:/[A-Za-z_-]{2,40}){1,6}$"
    r"|[\w./-]{1,80}\.(?:c|css|env|go|h|html|java|js|json|key|md|pem|py|rb|rs|sh|toml|tsx?|txt|ya?ml)$",
)
_ABOUT = re.compile(
    r"(?:name|url|uri|path|file|dir|header|field|ref|type|command|process|policy|expir[a-z]*|lifetime|ttl)$",
    re.IGNORECASE,
)
_SECRET_ITSELF = re.compile(r"(?:secret|passw(?:or)?d|passphrase|pwd)$", re.IGNORECASE)
_MOSTLY_WORDS = re.compile(r"token|cred", re.IGNORECASE)  # `token = response`, `credentials: include`
_IN_PARTS = re.compile(r"[\"'`\n]")
_NAME = re.compile(rf"(?i:{places.NAMED}|(?:proxy-)?authorization|(?:set-)?cookie)")


def redacted(text: str) -> str:
    """The text with each secret replaced by a word for its kind. Twice is the same as once. Only where a word is found
    that a secret begins with or stands beside is any pattern tried, and each of them looks only so far: two megabytes
    take a second, or some seconds if all is made of such words, and no call of the interpreter's more than some
    milliseconds, whatever is in them."""
    text = _without(text, [*_private_keys(text), *_keys(text), *_wrapped(text)])
    return _without(text, [*_beside_names(text), *_in_places(text)])


def redacted_value(value: Any) -> Any:
    """The same for every text in a JSON value, where the name of a field also says what is in it."""
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, list):
        return [redacted_value(each) for each in value]
    if isinstance(value, dict):
        named = value.get("name")  # as in {"name": "API_TOKEN", "value": "..."}
        return {
            _key(key): _of_field(named if key == "value" and isinstance(named, str) else key, each)
            for key, each in value.items()
        }
    return value


@lru_cache(1024)
def _key(name: str) -> str:
    """Of a field: nearly all have one of the same twenty names."""
    return redacted(name)


def _of_field(name: str, value: Any) -> Any:
    if isinstance(value, list):
        return [_of_field(name, each) for each in value]
    if isinstance(value, str) and len(value) >= 4 and _NAME.fullmatch(name) and not _harmless(name, value):
        return "[redacted value]"
    return redacted_value(value)


# --- where they are -----------------------------------------------------------------------------------------------


def _without(text: str, spans: Iterable[Span]) -> str:
    """Put a mark in place of each secret. Those that overlap are one, of the kind that was found first."""
    parts: list[str] = []
    at = told = 0
    for start, end, kind in sorted(spans, key=lambda span: span[0]):
        if start >= at or not parts:
            parts += [text[told:start], f"[redacted {kind}]"]
        at = told = max(at, end)
    return "".join([*parts, text[told:]])


def _found(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + 1)


def _keys(text: str) -> Iterator[Span]:
    for prefix, body in [each for each in _BEGINNINGS if each[0] in text]:  # most texts are short, and have none
        done = 0
        for at in _found(text, prefix):
            if at >= done and _begins(text, at) and (match := body.match(text, at + len(prefix))):
                done = match.end()
                yield at, done, "key"
    for word, before, whole in [each for each in _INSIDE if each[0] in text]:
        for at in _found(text, word):
            matches = (
                whole.match(text, at - length) for length in before if at >= length and _begins(text, at - length)
            )
            yield from ((match.start(), match.end(), "key") for match in matches if match)
    for start in range(0, len(text), _WINDOW):
        for match in _DISCORD.finditer(text, start, start + _WINDOW + _LONGEST):
            yield match.start(), match.end(), "key"


def _wrapped(text: str) -> Iterator[Span]:
    """Base64 of a text that has a secret in it."""
    for start in range(0, len(text), _WINDOW):
        for match in _BASE64.finditer(text, start, start + _WINDOW + _LONGEST):
            whole = _BASE64.match(text, match.start()) or match  # it may end behind the window
            plain = binascii.a2b_base64(whole[0] + "==")
            if plain.isascii() and (inner := plain.decode()) != redacted(inner):
                yield *whole.span(), "value"


def _begins(text: str, at: int) -> bool:
    """Whether a word does there; also behind a line break as JSON writes it."""
    before = text[max(0, at - 2) : at]
    return before[-1:] not in _WORD_LETTERS or before in ("\\n", "\\r", "\\t")


def _private_keys(text: str) -> Iterator[Span]:
    done = 0
    for at in _found(text, "PRIVATE KEY"):
        start = text.rfind("-----", max(done, at - 100), at)
        if start < 0:
            continue
        match = _WHOLE_KEY.match(text, start) or _KEY_WITHOUT_END.match(text, start)
        if match is None and (end := text.find("-----", at)) >= 0:
            match = _KEY_WITHOUT_BEGINNING.search(text, max(done, start - places.LONGEST_KEY), end + 5)
        done = max(done, start + 5)
        if match:
            done = match.end()
            yield match.start(), done, "private key"


def _beside_names(text: str) -> Iterator[Span]:
    """The values that are named like a secret. A name begins where the letters around one of the words do."""
    small, starts = _small(text), set()
    for word in [each for each in places.NAME_WORDS if each in small]:
        for at in _found(small, word):
            before = text[max(0, at - _NAME_PART) : at] if word.isascii() else ""
            starts.add(at - len(before) + len(before.rstrip(_NAME_LETTERS)))
    done = 0
    for start in sorted(starts):
        if start >= done and (span := _value_of_name(text, start)):
            done = span[1]
            yield span


def _value_of_name(text: str, start: int) -> Span | None:
    around = text[max(0, start - _BEFORE) : start]
    if around.endswith("[redacted "):  # a mark of ours, and no name
        return None
    for kind, before, after in _AFTER_NAME:
        if (before is None or before.search(around)) and (match := after.match(text, start)):
            return _value(match, kind)
    return None


def _in_places(text: str) -> Iterator[Span]:
    small = _small(text)
    for kind, words, place in _PLACES:
        for word in [each for each in words if each in small]:
            done = 0
            for at in _found(small, word):
                if at >= done and (match := place.match(text, at)) and (span := _value(match, kind)):
                    done = span[1]
                    yield span


def _small(text: str) -> str:
    """In small letters, each where it was: only this one becomes two."""
    return text.replace("\u0130", "i").lower()


def _value(match: re.Match[str], kind: str) -> Span | None:
    name = match.groupdict().get("name") or ""
    return None if _harmless(name, match["value"]) else (*match.span("value"), kind)


# --- what is none -------------------------------------------------------------------------------------------------


def _harmless(name: str, written: str) -> bool:
    value = written.strip("\"'`\\")
    if (
        _HARMLESS.match(value)
        or value.lower() == name.lower().rpartition(".")[2]
        or (" " in value and _MOSTLY_WORDS.search(name) and not _IN_PARTS.search(value))
    ):
        return True
    if name and (_PLACE.match(value) or _ABOUT.search(name) or _is_id(name, value)):
        return True
    if _COUNT.match(value):
        return not _SECRET_ITSELF.search(name)
    if not value.isidentifier() or not value.replace("_", "").isalpha() or name.isupper():
        return False
    return bool(_MOSTLY_WORDS.search(name)) or (value == written and value[0].isupper())  # a word, or a type


def _is_id(name: str, value: str) -> bool:
    """A key of something else than an API, as a table's; Heroku gives such for one."""
    return name.endswith("_KEY") and not name.endswith("API_KEY") and _UUID.match(value) is not None


_WINDOW, _LONGEST = 1 << 16, 256  # characters
_WORD_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/])(?:[A-Za-z0-9+/]{4}){6,50000}+(?:[A-Za-z0-9+/]{2,3}={0,2})?")
_NAME_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
_NAME_PART, _BEFORE = 61, 24  # characters of a name before its word, and of what stands before the name
_BEGINNINGS = tuple(
    (prefix, re.compile(body, re.ASCII)) for _, prefixes, body, _ in shapes.PROVIDERS for prefix in prefixes.split(" ")
)
_INSIDE = tuple(
    (word, before, re.compile(whole, re.ASCII))
    for _, words, before, whole, _ in shapes.INSIDE
    for word in words.split(" ")
)
_DISCORD = re.compile(shapes.DISCORD, re.ASCII)
_WHOLE_KEY = re.compile(places.WHOLE_KEY)
_KEY_WITHOUT_END = re.compile(places.KEY_WITHOUT_END)
_KEY_WITHOUT_BEGINNING = re.compile(places.KEY_WITHOUT_BEGINNING)
_AFTER_NAME = tuple(
    (kind, re.compile(rf"{before}\Z") if before else None, re.compile(after))
    for kind, before, after in places.AFTER_NAME
)
_PLACES = tuple((kind, words, re.compile(place)) for kind, words, place in places.PLACES)
