"""What CLAUDE.md imports, and what of it is a comment or code."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagentd.model.claude_md import imports, paths, without_comments

MARKDOWN = st.text(alphabet=st.sampled_from("@a/.~ \\\n\t`-*>#<!1)\r\0é\ud800"), max_size=300) | st.text()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("@docs/a.md", ["docs/a.md"]),
        ("See @README.md and @./b.md.", ["README.md", "./b.md."]),
        ("- @one\n  - @two\n> @three", ["one", "two", "three"]),
        ("@a @b @a", ["a", "b"]),
        ("@with\\ blank.md", ["with blank.md"]),
        ("# Rules @in/heading.md", ["in/heading.md"]),
        ("@~/x.md\n@/etc/passwd\n@../up.md", ["~/x.md", "/etc/passwd", "../up.md"]),
        ("ann@example.org, (@a), x@b", []),
        ("@", []),
        ("@@twice", ["@twice"]),
        ("@" + "x" * 2000, []),
        ("@a\0b", []),
    ],
)
def test_imports_are_words_behind_an_at(text: str, found: list[str]) -> None:
    assert imports(text) == found


@pytest.mark.parametrize(
    "code",
    [
        "`@code.md`",
        "``a ` @code.md``",
        "`begins\n@code.md ends`",
        "```\n@code.md\n```",
        "```py title\n@code.md\n````",
        "~~~\n```\n@code.md\n~~~",
        "- ```\n  @code.md\n  ```",
        "> ```\n> @code.md\n> ```",
        "    @code.md",
        "\t@code.md\n\n    @code.md",
        "<!-- @code.md -->",
        "<!--\n@code.md\n\n@code.md\n-->",
    ],
)
def test_code_and_comments_import_nothing(code: str) -> None:
    assert imports(f"@before\n\n{code}\n\n@after") == ["before", "after"]


@pytest.mark.parametrize(
    "text",
    [
        "`a @x `` b",  # a run of another length ends no span
        "\\`@y @x\\`",  # an escaped one begins none
        "``` a ``` @x",  # nor does a line with more backticks begin a block
        "One `not closed\n\n@x and` here",  # a span ends with its paragraph
        "- item\n\n    @x",  # four blanks go on with an item
        "text\n    @x",  # or with a paragraph
        "<!-- not closed\n@x",
        "text <!-- @x -->",
    ],
)
def test_what_only_looks_like_code_imports(text: str) -> None:
    assert "x" in imports(text)


def test_an_unclosed_fence_goes_on_to_the_end() -> None:
    assert imports("@a\n```\n@b\n\n@c") == ["a"]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a\n<!-- one -->\nb\n", "a\nb\n"),
        ("<!--\nmany\n\nlines\n--> \nb", "b"),
        ("   <!-- x -->rest\n", "rest\n"),
        ("<!-- a --><!-- b -->\nc", "c"),
        ("in <!-- line --> stays", "in <!-- line --> stays"),
        ("```\n<!-- code -->\n```\n", "```\n<!-- code -->\n```\n"),
        ("a\n\n    <!-- code -->\n", "a\n\n    <!-- code -->\n"),
        ("<!-- never closed\nb", "<!-- never closed\nb"),
        ("<!-- a -->\n<!-- never closed\nb", "<!-- never closed\nb"),
        ("", ""),
        ("no end", "no end"),
    ],
)
def test_block_comments_are_stripped(text: str, left: str) -> None:
    assert without_comments(text) == left


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("a.md", ["a.md"]),
        ("a.md.", ["a.md.", "a.md"]),
        ("a.md#part", ["a.md#part", "a.md"]),
        ("a.md#part),", ["a.md#part),", "a.md#part", "a.md"]),
        ("..", []),
        ("...", []),
        ("~/", []),
    ],
)
def test_an_import_may_mean_several_paths(word: str, meant: list[str]) -> None:
    assert paths(word) == meant


@given(MARKDOWN)
def test_no_text_raises(text: str) -> None:
    found = imports(text)
    assert len(set(found)) == len(found)
    assert all(word and "\0" not in word and f"@{word.replace(' ', chr(92) + ' ')}" in text for word in found)
    assert all(path for word in found for path in paths(word))


@given(MARKDOWN)
def test_without_comments_there_are_fewer_lines_and_the_same_imports(text: str) -> None:
    left = without_comments(text)
    assert len(left) <= len(text)
    if "<!--" not in text:
        assert left == text


@pytest.mark.parametrize("piece", ["<!--\n", "`", "```\n", "@a`", "`` ` ", "\\`", "> - ", "@x ", "\n", "    \n"])
def test_a_long_text_of_anything_takes_no_time_by_its_square(piece: str) -> None:
    """Of quadratic work over so many characters this test would not come back."""
    text = "@<!--" + piece * (500_000 // len(piece))
    imports(text)
    without_comments(text)
