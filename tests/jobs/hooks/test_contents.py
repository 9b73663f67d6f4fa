"""Our part of a hook file: where it goes, what it is kept out of, and that it comes out without a trace."""

from __future__ import annotations

import pytest

from dagentd.errors import NotAllowed
from dagentd.jobs.hooks import hook_text
from dagentd.jobs.hooks.hook_text import with_ours, without_ours

SCRIPTS = [
    b"#!/bin/sh\necho theirs\n",
    b"#!/bin/sh\n",
    b"#!/bin/sh",
    b"#! /bin/bash -eu\nexec true",
    b"#!/usr/bin/env bash\n\necho\n",
    b"#!/usr/bin/env -S bash -euo pipefail\necho\n",
    b"#!/usr/local/bin/zsh\n\xff\xfe\r\n",
    b"#!/bin/sh\n\n\n\n",
    b"echo no first line\n",
    b"echo neither that nor a line break",
    b"",
    b'#!/bin/sh\nexec "$(dirname "$0")/other" "$@"\n',
]
OTHERS = [
    b"#!/usr/bin/env python3\nprint()\n",
    b"#!/usr/bin/perl\n",
    b"#!/bin/sh\r\necho\r\n",
    b"#!/bin/sh -n\n",
    b"#!/bin/bash -r\n",
    b"#!/bin/fish\n",
    b"#!/bin/sh /other/script\n",
    b"\x7fELF\x02\x01\x01\x00\x00",
    b"#!/bin/sh\n'''exec' /opt/python \"$0\" \"$@\"\n' '''\nimport sys\n",
    b'#!/bin/sh\n# \\\nexec tclsh "$0" ${1+"$@"}\n',
]


@pytest.mark.parametrize("held", SCRIPTS)
def test_it_goes_in_at_the_top_once_and_comes_out_without_a_trace(held: bytes) -> None:
    installed = with_ours(held, "post-merge")
    first = held.partition(b"\n")[0] + b"\n" if held.startswith(b"#!") else b""
    assert installed.startswith(first + b"# >>> dagentd >>>")
    assert b"spool/${DAGENTD_PROBE:+probe.}post-merge$" in installed
    assert with_ours(installed, "post-merge") == installed
    assert without_ours(installed) == (held, False)


@pytest.mark.parametrize("held", OTHERS)
def test_what_is_no_shell_script_is_left_alone_with_what_to_add(held: bytes) -> None:
    with pytest.raises(NotAllowed) as refused:
        with_ours(held, "post-commit")
    assert 'sh "$(git rev-parse --git-common-dir)/dagentd/hook" post-commit' in refused.value.hint


@pytest.mark.parametrize("made_folder", [False, True])
def test_a_hook_of_ours_alone_goes_whole(made_folder: bool) -> None:
    own = with_ours(None, "post-commit", made_folder=made_folder)
    assert own.startswith(b"#!/bin/sh\n")
    assert with_ours(own, "post-commit") == own
    assert without_ours(own) == (None, made_folder)


def test_what_the_user_added_to_ours_stays() -> None:
    own = with_ours(None, "post-commit")
    assert without_ours(own + b"echo mine\n") == (b"#!/bin/sh\necho mine\n", False)
    assert with_ours(own + b"echo mine\n", "post-commit").endswith(b"# <<< dagentd <<<\necho mine\n")


def test_edits_around_our_part_stay() -> None:
    installed = with_ours(b"#!/bin/sh\necho one\n", "post-commit")
    edited = installed.replace(b"#!/bin/sh\n", b"#!/bin/sh -e\n# mine\n").replace(b"echo one\n", b"echo two")
    assert without_ours(edited) == (b"#!/bin/sh -e\n# mine\necho two", False)
    moved_up = with_ours(edited, "post-commit")
    assert moved_up.startswith(b"#!/bin/sh -e\n# >>> dagentd")
    assert without_ours(moved_up) == (b"#!/bin/sh -e\n# mine\necho two", False)


def test_lines_added_to_a_script_without_a_line_break_stay_on_lines_of_their_own() -> None:
    installed = with_ours(b"#!/bin/sh", "post-commit")
    assert without_ours(installed + b"echo\n") == (b"#!/bin/sh\necho\n", False)


def test_a_part_of_another_version_or_twice_there_becomes_the_current_one() -> None:
    installed = with_ours(b"#!/bin/sh\necho\n", "post-commit")
    older = installed.replace(b"no process", b"nothing")
    assert older != installed
    assert with_ours(older, "post-commit") == installed
    assert with_ours(installed + installed, "post-commit").count(b">>> dagentd >>>") == 1


def test_a_part_without_its_end_is_not_guessed_at() -> None:
    damaged = with_ours(b"#!/bin/sh\necho\n", "post-commit").replace(b"# <<< dagentd <<<\n", b"")
    for function in (without_ours, lambda held: with_ours(held, "post-commit")):
        with pytest.raises(NotAllowed, match="and not its last"):
            function(damaged)


def test_nothing_of_ours_is_found_where_nothing_is() -> None:
    assert without_ours(b"#!/bin/sh\n# dagentd\n") is None
    assert without_ours(b"") is None


def test_no_path_of_this_installation_is_in_it() -> None:
    import sys

    texts = (with_ours(None, "post-commit"), hook_text.by_itself())
    assert not any(path.encode() in text for text in texts for path in (sys.prefix, "python", "site-packages"))
