"""Text of others in a Markdown document of ours: whatever it says, it stays in its place."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})[ \t]*(.*)")
_LANGUAGE = re.compile(r"[A-Za-z0-9+#._-]{1,30}")
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#!|~&])")
# What could begin a tag, a comment or an autolink; and what would be read as a character's name.
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_NAMED = re.compile(r"&(?=#?[A-Za-z0-9]+;)")
_RUNS = re.compile(r"`+")


def inline(text: str) -> str:
    """On one line and with no meaning of its own, for a heading or a sentence."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def code(text: str) -> str:
    """A name or a path, within a line."""
    flat = " ".join(text.split())
    ticks = "`" * (_longest(flat) + 1)
    space = " " if flat.startswith("`") or flat.endswith("`") or not flat else ""
    return f"{ticks}{space}{flat}{space}{ticks}"


def item(text: str) -> str:
    """An entry of a list, as Markdown of somebody else's, on one line."""
    return f"- {_harmless(' '.join(text.split()))}"


def block(text: str, language: str = "") -> str:
    """As it is, between fences that are longer than any in it."""
    ticks = "`" * max(3, _longest(text) + 1)
    return f"{ticks}{language}\n{_unix(text)}\n{ticks}"


def folded(title: str, body: str) -> str:
    """Shown when it is asked for. The title is plain text, the body Markdown of ours."""
    head = html.escape(" ".join(title.split()), quote=False)
    return f"<details><summary>{head}</summary>\n\n{body}\n\n</details>"


def quoted(text: str) -> str:
    """Markdown of somebody else's: prose as a quotation, which it cannot end because we begin each line; its blocks of
    code between them, as blocks of ours. HTML of its own is text."""
    return "\n\n".join(_quote(said) if language is None else block(said, language) for language, said in _parts(text))


def _parts(text: str) -> Iterator[tuple[str | None, str]]:
    """Prose (None) and blocks of code (their language) in turn. Only fences at the left margin count: where a program
    that shows the document sees others, they are in a quotation and end with it."""
    held: list[str] = []
    fence, language = "", ""
    for line in _unix(text).split("\n"):
        found = _FENCE.fullmatch(line)
        if fence and found and found[1].startswith(fence) and not found[2]:
            yield language, "\n".join(held)
            held, fence = [], ""
        elif not fence and found:
            yield from _prose(held)
            held, fence, language = [], found[1], _language(found[2])
        else:
            held.append(line)
    if fence:
        yield language, "\n".join(held)
    else:
        yield from _prose(held)


def _prose(lines: list[str]) -> Iterator[tuple[None, str]]:
    if (said := "\n".join(lines).strip("\n")).strip():
        yield None, said


def _language(info: str) -> str:
    found = _LANGUAGE.match(info)
    return found[0] if found else ""


def _quote(text: str) -> str:
    """A line break stays one: two blanks at the end say so."""
    lines = [_harmless(line.rstrip()) for line in text.split("\n")]
    following = [*lines[1:], ""]
    return "\n".join(
        f"> {line}  " if line and after else f"> {line}".rstrip() for line, after in zip(lines, following, strict=True)
    )


def _harmless(text: str) -> str:
    return _TAG.sub("&lt;", _NAMED.sub("&amp;", text))


def _unix(text: str) -> str:
    """With one kind of line end."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _longest(text: str) -> int:
    return max((len(run) for run in _RUNS.findall(text)), default=0)
