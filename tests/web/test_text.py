"""What others wrote stays text."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from dagentd.web.html import Html, fragment, h, join, name, to
from dagentd.web.text import clean, markdown
from tests.web import hostile

ALLOWED = {"p", "pre", "code", "a", "strong", "em", "h4", "ul", "ol", "li", "blockquote", "hr", "br", "table", "div"}


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_markdown_makes_no_other_elements_than_its_own() -> None:
    tags = Tags(markdown(hostile.EVERYTHING).text).found
    assert {tag for tag, _ in tags} <= ALLOWED
    assert {key for _, attributes in tags for key in attributes} <= {"href", "rel", "target", "class", "tabindex"}
    links = [attributes["href"] for tag, attributes in tags if tag == "a"]
    assert len(links) == 2  # the picture, as a link, and the good one
    assert all(str(link).startswith(("http://", "https://")) for link in links)


@pytest.mark.parametrize("text", [hostile.TERMINAL, hostile.TURNED, hostile.ONE_LINE])
def test_nothing_steers_a_terminal_or_turns_the_text(text: str) -> None:
    for shown in (clean(text), markdown(text).text, name(text).text):
        assert re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]", shown) is None


def test_colours_of_a_terminal_are_left_out() -> None:
    assert clean("\x1b[1;31mFAIL\x1b[0m a\tb\r\nc") == "FAIL a\tb\nc"


def test_elements_escape_what_is_in_them() -> None:
    made = h.p("<b>", h.i('"&'), ["x", None, 3], title='"><script>')
    assert made.text == '<p title="&quot;&gt;&lt;script&gt;">&lt;b&gt;<i>&quot;&amp;</i>x3</p>'
    assert join(fragment("<", Html("<hr>"))) == "&lt;<hr>"


@pytest.mark.parametrize(
    "address", ["javascript:x", " javascript:x", "data:text/html,x", "//evil", "\tjavascript:x", "x:y"]
)
def test_no_element_has_an_address_that_runs(address: str) -> None:
    with pytest.raises(ValueError):
        h.a("x", href=address)
    with pytest.raises(ValueError):
        h.a("x", onclick="x")


def test_addresses_of_pages_hold_any_name() -> None:
    assert to("session", "target", id="a&b=c#d", at=None) == "session?id=a%26b%3Dc%23d#target"
    assert h.a("x", href=to("session", id="javascript:x")).text.startswith('<a href="session?id=javascript%3Ax"')
