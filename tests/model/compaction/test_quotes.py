"""The user's own words beside an item: those that are nearest to it, and never a part that means the contrary."""

from __future__ import annotations

import pytest

from dagentd.model.compaction.acceptance import quote_for

SAID = (
    "Hi. Do not touch the old project in /srv/legacy!\nAlso use tabs, and keep the port at 8443 for now.\n"
    "データベースは消さないでください。テストは毎回実行して。"
)


def quoted(text: str, given: str = "") -> str:
    return quote_for(text, given, [SAID])


@pytest.mark.parametrize(("text", "words"), [
    ("Touch the old project in /srv/legacy", "Do not touch the old project in /srv/legacy!"),
    ("The old project is off limits", "Do not touch the old project in /srv/legacy!"),
    ("touch the old project in /srv/legacy", "Do not touch the old project in /srv/legacy!"),
    ("Port 8443 stays", "Also use tabs, and keep the port at 8443 for now."),
    ("データベースを消してよい", "データベースは消さないでください。"),
])  # fmt: skip
def test_an_order_that_is_turned_round_has_the_words_beside_it(text: str, words: str) -> None:
    assert quoted(text) == words


def test_a_whole_sentence_of_the_user_needs_no_quote() -> None:
    assert quoted("do not touch the old project in /srv/legacy") == ""


def test_what_the_model_quotes_counts_if_it_was_said_and_is_shown_whole() -> None:
    assert quoted("Indent with tabs", "use tabs") == "Also use tabs, and keep the port at 8443 for now."
    assert quoted("The old project may be touched", "you may touch the old project") == SAID[4:48]


def test_nobody_said_anything() -> None:
    assert quote_for("x", "y", []) == ""
    assert len(quote_for("x", "", ["word " * 500])) <= 240
