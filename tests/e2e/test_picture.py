"""The picture in README.md is of the program as it is."""

from __future__ import annotations

import re

from tests.picture import PICTURE, made, words
from tests.readme import README


def test_it_shows_what_the_demo_prints() -> None:
    assert words(PICTURE.read_text(encoding="utf-8")) == words(made()), "run `python -m tests.picture`"


def test_it_shows_the_steps_in_colours() -> None:
    held = PICTURE.read_text(encoding="utf-8")
    shown = "\n".join(words(held))
    missing = [name for name in ("demo", "migrate", "init", "undo", "call") if f"$ dagentd {name}" not in shown]
    assert not missing and "By hand: dagentd compact" in shown, "what happens by itself stands above no command"
    assert len(set(re.findall(r"fill: (#\w+)", held))) > 3


def test_it_loads_nothing_from_anywhere() -> None:
    held = PICTURE.read_text(encoding="utf-8")
    assert "monospace" in held and not re.search(r"url\((?!#)|@import|@font-face|<script|<image|href", held)


def test_the_readme_opens_with_it() -> None:
    head = README.read_text(encoding="utf-8").split("\n## ")[0]
    assert PICTURE.relative_to(README.parent).as_posix() in head
