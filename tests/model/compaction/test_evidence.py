"""What messages show beside words: tools, files and checks, however a program writes them down."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from dagentd.model.compaction.evidence import blocks, checks, told_uses
from dagentd.model.compaction.turns import turn
from tests.model.compaction.checkpoints_of import JSON


def test_a_call_and_its_result_are_blocks_of_different_messages() -> None:
    (call,) = blocks([{"type": "tool_use", "id": "t", "name": "Edit", "input": {"file_path": "a.py"}}])
    assert (call.id, call.name, call.failed, call.paths) == ("t", "Edit", None, ("a.py",))
    (result,) = blocks([{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "done"}]}])
    assert (result.id, result.result, result.failed) == ("t", "done", False)


@pytest.mark.parametrize(("use", "failed"), [
    ({"result": "ok"}, False), ({"result": "Error: no such file"}, True), ({"result": "Error: x",
    "isError": False}, False),
    ({"result": {"exitCode": 0, "stdout": "Error: shown"}}, False), ({"result": {"exit_code": 2}}, True),
    ({"result": {"success": False}}, True), ({"result": {"error": "boom"}}, True), ({"result": {"error": ""}}, False),
    ({"result": "ValueError: x"}, True), ({"result": "Traceback (most recent call last):"}, True), ({}, None),
    ({"result": '{"error": "boom"}'}, True), ({"result": '{"errors": [], "files": 3}'}, False),
    ({"result": "[ERROR] x"}, True),
    ({"result": "no errors found"}, False), ({"result": "exit code 1"}, True), ({"result": "exit code 0"}, False),
])  # fmt: skip
def test_whether_a_tool_failed(use: dict[str, Any], failed: bool | None) -> None:
    (found,) = told_uses({"name": "Bash", **use})
    assert found.failed is failed


@pytest.mark.parametrize(("given", "paths"), [
    ({"file_path": "a.py"}, ["a.py"]), ({"filePath": "a.py", "path": "b"}, ["a.py", "b"]),
    ({"paths": ["a", "b", "a"]}, ["a", "b"]), ({"edits": [{"file_path": "c"}]}, ["c"]), ({"path": "x" * 501}, []),
    ("*** Begin Patch\n*** Update File: src/a.ts\n@@", ["src/a.ts"]), ({"path": ""}, []), (None, []), ([1], []),
])  # fmt: skip
def test_which_files_a_tool_touches(given: Any, paths: list[str]) -> None:
    (found,) = told_uses({"name": "Edit", "input": given})
    assert list(found.paths) == paths


@pytest.mark.parametrize("results", [
    [{"name": "build", "passed": True}, {"check": "lint", "status": "Failed", "error": "E501"}],
    {"build": True, "lint": {"success": False, "message": "E501"}},
    {"build": "passed", "lint": {"result": "fail", "output": "E501"}, "odd": "perhaps", "none": None},
])  # fmt: skip
def test_checks_in_all_their_shapes(results: Any) -> None:
    found = [(one.name, one.passed, one.error) for one in checks(results)]
    assert found == [("build", True, ""), ("lint", False, "E501")]


@given(JSON, JSON)
def test_no_message_is_too_strange(one: Any, other: Any) -> None:
    metadata = {"toolUse": one, "verificationResults": other, "iteration": other}
    for content in (one, [one, other], [{"type": "tool_use", "input": one}, {"type": "tool_result", "content": other}]):
        found = turn({"id": one, "role": other, "content": content, "timestamp": one, "metadata": metadata})
        assert isinstance(found.text, str) and isinstance(found.words, str)
    assert turn({"metadata": other}).id == ""
