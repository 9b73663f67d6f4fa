"""JSON as other programs write it, and as we write it for them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagentd.model import jsontext
from dagentd.model.jsontext import Undecodable

_SURROGATES = st.text(st.characters(), max_size=20)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _SURROGATES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_SURROGATES, inner, max_size=4),
    max_leaves=12,
)


@given(_JSON)
def test_what_is_written_is_read_back_equal(value: Any) -> None:
    """Through text as JavaScript sees it: two lone surrogates in a row are one character there."""
    once = jsontext.decode(jsontext.encode(value))
    assert jsontext.decode(jsontext.pretty(value)) == once == jsontext.decode_own(jsontext.encode(once))


@given(_JSON)
def test_writing_again_gives_the_same_bytes(value: Any) -> None:
    first = jsontext.encode(jsontext.decode(jsontext.encode(value)))
    assert jsontext.encode(jsontext.decode(first)) == first


def test_half_an_emoji_is_kept_as_its_escape_and_the_rest_as_itself() -> None:
    assert jsontext.encode({"text": "grün \ud83d"}) == '{"text": "grün \\ud83d"}'.encode()
    assert jsontext.decode(b'"\\ud83d"') == "\ud83d"


def test_a_byte_order_mark_is_passed_over() -> None:
    assert jsontext.decode(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}


def test_numbers_that_json_does_not_have_become_null() -> None:
    assert jsontext.decode(b'{"a": NaN, "b": -Infinity}') == {"a": None, "b": None}
    assert jsontext.encode({"a": [1e999, 1]}) == b'{"a": [null, 1]}'
    assert json.loads(jsontext.pretty({"a": float("nan")})) == {"a": None}


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"\0" * 4096, "holds nothing but NUL bytes"),
        (b'{"a": ', "is not valid JSON (line 1: Expecting value)"),
        (b'{"a": "\xff"}', "is not valid UTF-8 at byte 7"),
        (b'{"a": 1, "b": {"a": 1, "a": 2}}', 'has the key "a" twice in one object'),
        (b"[" * 100_000, "is nested too deeply"),
    ],
)
def test_what_cannot_be_read_is_said_in_words(data: bytes, why: str) -> None:
    with pytest.raises(Undecodable) as caught:
        jsontext.decode(data)
    assert str(caught.value) == why


def test_a_number_with_thousands_of_digits_is_refused_in_words() -> None:
    with pytest.raises(Undecodable, match="is not valid JSON: Exceeds the limit"):
        jsontext.decode(b"9" * 5000)


def test_a_document_is_an_object() -> None:
    with pytest.raises(Undecodable, match="must hold an object, not a list"):
        jsontext.decode_object(b"[]")
