"""Text of others in a document of ours, as a program that shows Markdown reads it: it stays where we put it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from dagentd.model import export

AWKWARD = [
    "```", "````", "~~~", "~~~~", "``", "`", "> ", "- ", "1. ", "    ", "  ", "\t", "\n", "\r", "\r\n", "# ", "---",
    "===", "<!--", "-->", "<details>", "</details>", "</summary>", "<script>", "<br", "/>", "<?", "<![CDATA[", "]]>",
    "&lt;", "&#60;", "\\", "|", "[a]: http://x", "<http://x>", "word", "é", "\u2028", "\x85", "\x0b", "\x0c", "python",
]  # fmt: skip
awkward = st.lists(st.sampled_from(AWKWARD) | st.text(max_size=3), max_size=40).map("".join)


def read(text: str) -> list[Token]:
    return MarkdownIt("commonmark").parse(text)


def top(text: str) -> list[str]:
    """What stands at the top level of a document."""
    return [token.type for token in read(text) if token.level == 0 and token.nesting >= 0]


def kinds(text: str) -> set[str]:
    """What stands anywhere in it."""
    return {each.type for token in read(text) for each in (token, *(token.children or ()))}


@given(awkward)
def test_a_quotation_is_quotations_and_code_and_nothing_else(text: str) -> None:
    document = f"# Before\n\n{export.quoted(text)}\n\n# After\n"
    first, *between, last = top(document)
    assert (first, last) == ("heading_open", "heading_open")
    assert set(between) <= {"blockquote_open", "fence"}
    assert not kinds(document) & {"html_block", "html_inline"}


@given(awkward)
def test_a_block_holds_just_what_it_was_given(text: str) -> None:
    document = f"# Before\n\n{export.block(text, 'json')}\n\n# After\n"
    assert top(document) == ["heading_open", "fence", "heading_open"]
    flat = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "\ufffd")
    assert [token.content for token in read(document) if token.type == "fence"] == [f"{flat}\n"]


@given(awkward)
def test_what_is_folded_is_folded_as_a_whole(text: str) -> None:
    document = f"{export.folded(text, export.quoted(text))}\n\n# After\n"
    html = [token.content for token in read(document) if token.type == "html_block"]
    assert [part.count("<") for part in html] == [3, 1]
    assert html[0].startswith("<details><summary>") and html[1].strip() == "</details>"


@given(awkward)
def test_one_line_is_one_line(text: str) -> None:
    document = f"# {export.inline(text)}.\n\n{export.item(text)}\n\nIn {export.code(text)} it is.\n\n# After\n"
    assert top(document)[0] == "heading_open" and top(document)[-1] == "heading_open"
    assert not kinds(f"# {export.inline(text)}.") & {"html_inline", "code_inline", "em_open", "link_open", "image"}
    inside = [each for token in read(f"In {export.code(text)} it is.") for each in token.children or ()]
    assert [each.type for each in inside] == ["text", "code_inline", "text"]
    assert not kinds(document) & {"html_block", "html_inline"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Just words.", "> Just words."),
        ("One\ntwo\n\nthree", "> One  \n> two\n>\n> three"),
        ("See:\n```python\nprint('<b>')\n```\nDone", "> See:\n\n```python\nprint('<b>')\n```\n\n> Done"),
        ("~~~\n```\n~~~", "````\n```\n````"),
        ("```py evil<b>\nnever ends", "```py\nnever ends\n```"),
        ("a <b> & &amp; 1 < 2", "> a &lt;b> & &amp;amp; 1 < 2"),
        ("", ""),
    ],
)
def test_it_reads_well(text: str, shown: str) -> None:
    assert export.quoted(text) == shown


def test_what_was_written_is_what_is_shown() -> None:
    """A heading, a list and code of an answer stay what they are."""
    text = "## Plan\n\n- one\n- two\n\n```sh\nmake\n```\n"
    assert {"heading_open", "bullet_list_open", "fence"} <= kinds(export.quoted(text))
