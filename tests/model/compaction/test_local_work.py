"""What `local` takes from tools: finished work, and what stands in the way."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dagentd.model.compaction.local.failures import MOST
from tests.model.compaction.said import after, assistant, items_after, used, user


def _completed(*messages: dict[str, object]) -> list[object]:
    return after(*messages)["completed"]


def test_files_of_a_folder_are_one_item() -> None:
    edits = ["src/auth/token.ts", "src/auth/login.ts", "src/auth/token.ts", "README.md"]
    assert _completed(*(used("Edit", file_path=path) for path in edits)) == [
        "Edited src/auth/token.ts (2 times), src/auth/login.ts",
        "Edited README.md",
    ]


def test_a_later_round_adds_to_the_item_of_that_folder() -> None:
    begin = items_after(used("Edit", file_path="src/a.ts"), used("Write", file_path="src/b.ts"))
    later = used("Edit", file_path="src/a.ts"), used("Edit", file_path="src/c.ts")
    assert after(*later, items=begin)["completed"] == ["Edited src/b.ts, src/a.ts (2 times), src/c.ts"]


def test_an_item_that_somebody_else_wrote_is_left_alone() -> None:
    (item,) = items_after(used("Edit", file_path="src/a.ts"))
    mine = replace(item, text="Edited src/a.ts thoroughly, and it was worth it")
    assert mine in items_after(used("Edit", file_path="src/a.ts"), items=[mine])


def test_a_folder_of_many_files_is_several_items_and_no_path_is_lost() -> None:
    paths = [f"src/components/widgets/part_{at}.tsx" for at in range(60)]
    found = _completed(*(used("Write", file_path=path) for path in paths))
    assert 1 < len(found) < 10
    assert all(any(path in str(text) for text in found) for path in paths)


def test_calls_and_results_are_matched_across_messages() -> None:
    call = [{"type": "tool_use", "id": "t1", "name": "Edit", "input": {"file_path": "a.py"}}]
    result = [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]
    assert _completed(assistant(call), user(result)) == ["Edited a.py"]
    failed = [{**result[0], "is_error": True, "content": "String not found"}]
    assert _completed(assistant(call), user(failed)) == []
    assert after(assistant(call), user(failed))["blockers"] == ["`Edit a.py`: String not found"]
    assert _completed(assistant(call)) == ["Edited, outcome unknown: a.py"]


def test_a_result_whose_call_left_in_an_earlier_round_is_still_a_failure() -> None:
    result = {"type": "tool_result", "tool_use_id": "gone", "content": "assert 1 == 2", "is_error": True}
    assert after(user([result]))["blockers"] == ["`tool`: assert 1 == 2"]
    passed = {**result, "is_error": False, "content": "fine"}
    assert after(user([result]), user([passed]))["blockers"] == ["`tool`: assert 1 == 2"]


def test_reading_and_searching_is_no_work() -> None:
    looks = used("Read", file_path="a.py"), used("Grep", pattern="x", path="src"), used("Bash", command="ls -la")
    assert not any(after(*looks, used("Bash", command="git status")).values())


def test_checks_builds_and_commits_are() -> None:
    assert _completed(
        used("Bash", "== 214 passed in 3.2s ==", command="cd app && pytest -q 2>&1 | tail -5"),
        used("Bash", "built", command="npm run build"),
        used("Bash", "[main 1a2b3c4]", command="git commit -m 'Fix login'"),
        assistant("", iteration=4, verificationResults=[{"name": "lint", "passed": True}]),
    ) == [
        "Ran `pytest -q`: 214 passed in 3.2s",
        "Ran `npm run build`: passed",
        "Ran `git commit -m 'Fix login'`: done",
        "Check `lint`: passed (iteration 4)",
    ]


def test_what_ran_again_is_still_one_item_and_says_when_it_failed_since() -> None:
    runs = [used("Bash", "ok", command=f"pytest tests/test_{name}.py") for name in "abc"]
    assert _completed(*runs) == ["Ran `pytest tests/test_c.py`: passed"]
    failed = used("Bash", "1 failed", True, command="pytest tests/test_c.py")
    assert _completed(*runs, failed) == ["Ran `pytest tests/test_c.py`: passed earlier, then failed"]


def test_a_failure_is_a_blocker_with_its_first_line() -> None:
    error = "src/app.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'."
    assert after(used("Bash", f"{error}\nmore", True, command="npm run build"))["blockers"] == [
        f"`npm run build`: {error}"
    ]


def test_a_first_line_that_says_nothing_is_followed_by_the_one_that_does() -> None:
    trace = 'Traceback (most recent call last):\n  File "x.py", line 1, in f\nValueError: no such tenant: 42'
    assert after(used("Bash", trace, True, command="make migrate"))["blockers"] == [
        "`make migrate`: Traceback (most recent call last): … ValueError: no such tenant: 42"
    ]


def test_a_tool_that_says_success_and_prints_failures_has_failed() -> None:
    lists = after(used("Bash", "3 failed, 10 passed", command="pytest -q | tail -1"))
    assert lists["blockers"] == ["`pytest -q`: 3 failed, 10 passed"]
    assert lists["completed"] == []


def test_the_same_command_succeeding_ends_it_and_an_edit_alone_does_not() -> None:
    failed = used("Bash", "Error: boom", True, command="npm test")
    assert after(failed, used("Edit", file_path="a.ts"))["blockers"] == ["`npm test`: Error: boom"]
    fixed = after(failed, used("Edit", file_path="a.ts"), used("Bash", "ok", command="npm test"))
    assert fixed["blockers"] == []
    assert "No longer open: `npm test`: Error: boom" in fixed["completed"]
    other = after(failed, used("Bash", "ok", command="npm run lint"))
    assert other["blockers"] == ["`npm test`: Error: boom"]


def test_running_everything_speaks_for_a_part_and_not_the_other_way() -> None:
    part, every = "pytest -q tests/test_a.py", "pytest -q"
    assert after(used("Bash", "Error: a", True, command=part), used("Bash", command=every))["blockers"] == []
    assert after(used("Bash", "Error: a", True, command=every), used("Bash", command=part))["blockers"] != []


def test_it_ends_also_in_a_later_round() -> None:
    begin = items_after(assistant("", verificationResults={"build": {"passed": False, "error": "E1: no\nmore"}}))
    assert [item.text for item in begin] == ["`build`: E1: no"]
    lists = after(assistant("", verificationResults={"build": True}), items=begin)
    assert lists["blockers"] == []
    assert sorted(lists["completed"]) == ["Check `build`: passed", "No longer open: `build`: E1: no"]


def test_another_error_of_the_same_command_ends_the_first_and_a_returning_one_is_open_again() -> None:
    def run(error: str) -> dict[str, object]:
        return used("Bash", error, bool(error), command="npm test")

    lists = after(run("Error: one"), run("Error: two"))
    assert lists["blockers"] == ["`npm test`: Error: two"]
    assert lists["completed"] == ["No longer open: `npm test`: Error: one"]
    assert after(run("Error: one"), run(""), run("Error: one"))["blockers"] == ["`npm test`: Error: one"]


def test_an_error_that_somebody_pastes_is_a_blocker() -> None:
    line = "TypeError: Cannot read properties of undefined (reading 'id')"
    told = f"I get this when I log in:\n```\n{line}\n    at Object.<anonymous> (app.js:1:2)\n```"
    assert after(user(told))["blockers"] == [line]
    assert after(user("Error handling could be nicer, by the way."))["blockers"] == []


def test_searching_without_a_hit_blocks_nothing() -> None:
    missing = used("Read", "Error: ENOENT: no such file", True, file_path="x")
    assert not any(after(missing, used("Bash", "", True, command="grep -r foo .")).values())


def test_blockers_are_bounded_and_the_oldest_end_first() -> None:
    lists = after(*(used("Bash", f"Error: {at}", True, command=f"make target{at}") for at in range(MOST + 5)))
    assert len(lists["blockers"]) == MOST
    assert "No longer open: `make target0`: Error: 0" in lists["completed"]


@pytest.mark.parametrize(
    "said", ["Blocked: the key for the sandbox is 3 days old.", "I'm stuck on the sandbox, it has no key."]
)
def test_what_the_assistant_is_blocked_by_is_a_blocker_and_nothing_completed(said: str) -> None:
    lists = after(assistant(said))
    assert lists["blockers"] == [said] and not lists["completed"]


@pytest.mark.parametrize(
    ("asked", "claim"),
    [
        ("write a guide for new colleagues in a md file", "I've written GUIDE.md."),
        ("prove the theorem that the appendix has on trees and forests", "Fixed the trees."),
        ("add a dark theme to the shop, customers ask for it all the time", "Added the theme switch."),
    ],
)
def test_the_only_thing_asked_is_done_when_what_is_claimed_has_a_word_of_it(asked: str, claim: str) -> None:
    edit = used("Edit", file_path="a.md")
    assert after(user(asked), edit, assistant(claim))["pending"] == []
    assert after(user(asked), assistant(claim))["pending"] == [asked]
    assert after(user(asked), edit, assistant(f"{claim} The rest is next."))["pending"] == [asked]
