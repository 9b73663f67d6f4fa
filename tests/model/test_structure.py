"""The structure of a checkout as a tree."""

from __future__ import annotations

from dagentd.jobs.context.checkouts import draw_tree


def test_folders_and_what_is_in_them() -> None:
    paths = [".github/", ".github/ci.yml", "README.md", "src/", "src/main/", "src/main/app.py", "src/renderer/", "z"]
    assert draw_tree(paths, 0) == (".github/\n  ci.yml\nREADME.md\nsrc/\n  main/\n    app.py\n  renderer/\nz")


def test_what_is_left_out_is_said() -> None:
    assert draw_tree(["a"], 3) == "a\n[3 more left out]"
    assert draw_tree([], 0) == ""
