"""Branches as session ids."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagentd.agx import session_names
from dagentd.model import ids


@pytest.mark.parametrize(
    ("branch", "session_id"),
    [("main", "main"), ("feature/auth", "feature-auth"), ("a/b/c", "a-b-c"), ("fix#12", "fix-12"), (".x", "x"),
     ("größe", "gr-e"), ("日本", "branch"), ("a..b", "a.b"), ("-", "branch")],
)  # fmt: skip
def test_a_branch_has_an_id(branch: str, session_id: str) -> None:
    found = session_names.of_branch(branch, lambda _: False)
    assert found == session_id
    assert session_names.could_be_of(found, branch)


def test_a_clash_gets_four_hex_digits() -> None:
    taken = {"feature-auth"}
    found = session_names.of_branch("feature-auth", taken.__contains__)
    assert found.startswith("feature-auth-") and len(found) == len("feature-auth-") + 4
    int(found[-4:], 16)
    assert session_names.of_branch("feature-auth", {*taken, found}.__contains__) not in {*taken, found}
    assert session_names.could_be_of(found, "feature-auth") and not session_names.could_be_of(found, "feature/auth")


@given(st.text(min_size=1, max_size=300))
def test_every_id_of_a_branch_is_safe(branch: str) -> None:
    assert ids.is_safe(session_names.of_branch(branch, lambda _: False))
    assert ids.is_safe(session_names.of_branch(branch, lambda name: "-" not in name[-5:-4]))


def test_tmux_names_have_no_character_that_tmux_takes_for_its_own() -> None:
    assert session_names.tmux_session("agx", "my.shop", "a:b c") == "agx-my_shop-a_b_c"
    assert session_names.told_apart("x", Path("/a")) != session_names.told_apart("x", Path("/b"))
