"""Text that others wrote, for the page: nothing in it steers a terminal or turns its direction, and its Markdown
becomes HTML without any HTML of theirs."""

from __future__ import annotations

import re
from functools import cache
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from dagentd.model import oneline
from dagentd.web.html import Html

# What terminals take for colours, titles and cursors: without it the text is what was to be read.
_STEERING = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])")
_SAFE_LINK = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)


def clean(text: str) -> str:
    """Several lines, in which what is left of control characters is visible."""
    plain = _STEERING.sub("", text.replace("\r\n", "\n"))
    return "\n".join("\t".join(map(oneline.visible, line.split("\t"))) for line in plain.split("\n"))


def markdown(text: str) -> Html:
    return Html(_reader().render(clean(text)))


@cache
def _reader() -> MarkdownIt:
    """Pictures are links: one from elsewhere would tell others that it was looked at."""
    reader = MarkdownIt("commonmark", {"html": False, "linkify": False, "typographer": False})
    reader.enable(["table", "strikethrough"]).disable("image")
    reader.validateLink = lambda url: _SAFE_LINK.match(url) is not None  # type: ignore[method-assign]
    reader.add_render_rule("link_open", _link_open)
    reader.add_render_rule("table_open", lambda *_: '<div class="wide" tabindex="0"><table>')
    reader.add_render_rule("table_close", lambda *_: "</table></div>")
    for rule in ("th_open", "td_open"):
        reader.add_render_rule(rule, lambda _self, tokens, at, *_: f"<{tokens[at].tag}>")  # it aligns by inline style
    for rule in ("fence", "code_block"):
        reader.add_render_rule(rule, _code)
    for level in ("heading_open", "heading_close"):
        reader.add_render_rule(level, _heading)
    return reader


def _code(self: RendererHTML, tokens: list[Token], at: int, options: Any, env: Any) -> str:
    """Whoever has no mouse can scroll it."""
    return f'<pre tabindex="0"><code>{escape(tokens[at].content)}</code></pre>\n'


def _link_open(self: RendererHTML, tokens: list[Token], at: int, options: Any, env: Any) -> str:
    tokens[at].attrSet("rel", "noopener noreferrer nofollow")
    tokens[at].attrSet("target", "_blank")
    return self.renderToken(tokens, at, options, env)


def _heading(self: RendererHTML, tokens: list[Token], at: int, options: Any, env: Any) -> str:
    """Below the headings of the page itself."""
    level = min(6, int(tokens[at].tag[1:]) + 3)
    return f"<h{level}>" if tokens[at].nesting == 1 else f"</h{level}>\n"
