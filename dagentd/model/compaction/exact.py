"""What a reader would take for a fact, and whether it was said: paths, numbers, names, options, quoted text."""

from __future__ import annotations

import re

_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_ORDINALS = ("zeroth", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
# What everybody calls things in prose, whatever they are called in the messages.
_COMMON = (
    "api", "cli", "css", "csv", "gui", "html", "http", "https", "json", "readme", "rest", "sql", "todo", "url", "utc",
)  # fmt: skip
_EXACT = re.compile(
    r"`(?P<code>[^`\n]{1,200})`"
    r"|(?P<path>(?:[\w.@~-]+)?(?:/[\w.@~-]+)+/?|\b[\w-]+\.[A-Za-z]\w{1,5}\b)"
    r"|(?P<name>\b[A-Za-z]\w*_\w+\b|\b[A-Z]?[a-z]+[A-Z]\w*\b|\b[A-Z][A-Z0-9]{2,}\b|--[a-z][\w-]+)"
    r"|(?<![\w.])v?(?P<number>\d+(?:[.,:_]\d+)*)"
)
_GROUPED = re.compile(r"(?<=\d)[,_](?=\d{3}(?!\d))")  # 10,000 and 10_000 are 10000


def plain(text: str) -> str:
    """As `missing` wants what was said."""
    return " ".join(_GROUPED.sub("", text).lower().split())


def is_exact(text: str) -> bool:
    """Whether there is any fact in it."""
    return _EXACT.search(text) is not None


def missing(text: str, said: str) -> list[str]:
    """The facts of a text that were not said; `said` is plain."""
    return [match[0].strip() for match in _EXACT.finditer(text) if not _occurs(match, said)]


def _occurs(exact: re.Match[str], said: str) -> bool:
    if exact["number"]:
        return _number_occurs(plain(exact["number"]), said)
    wanted = plain(exact[exact.lastgroup or 0]).strip(".,:;").rstrip("/")
    if wanted in said or wanted in _COMMON:
        return True
    return bool(exact["path"]) and all(word in said for word in _said_as_words(wanted))


def _said_as_words(path: str) -> list[str]:
    """What only looks like a path: `create/update/delete`, `Node.js`. What is one stays whole."""
    if re.fullmatch(r"[a-z]+(?:/[a-z]+)+", path):
        return path.split("/")
    return [path.removesuffix(".js")] if re.fullmatch(r"[a-z]+\.js", path) else [path]


def _number_occurs(wanted: str, said: str) -> bool:
    if re.search(rf"(?<!\d)(?<!\d[.,]){re.escape(wanted)}(?!\d)", said):
        return True
    names = [words[int(wanted)] for words in (_WORDS, _ORDINALS) if wanted.isdecimal() and int(wanted) < len(words)]
    return any(re.search(rf"\b{name}\b", said) for name in names)
