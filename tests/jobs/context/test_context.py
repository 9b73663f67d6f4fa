"""Contexts of real worktrees: what they say, when they are written, and when not."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from dagentd.adapters import clock, tokens
from dagentd.adapters.files import fileio
from dagentd.adapters.files.marks import PATIENCE
from dagentd.adapters.git import project_at, repository
from dagentd.errors import LimitReached, NotAllowed
from dagentd.jobs import due
from dagentd.jobs.context import checkouts, feature_parts, instructions, rebuild, rebuild_one
from dagentd.model import sections
from dagentd.model.documents import Context
from dagentd.settings import Settings
from dagentd.store.documents.projection import GONE_FOR
from dagentd.store.journal.index import Index
from dagentd.store.memory import Memory
from dagentd.store.store import Store
from tests.conftest import FEATURE, SampleProject, git
from tests.jobs.context.contexts import DAG, NODES, Contexts, Steps, read, write_json
from tests.patience import until

TASKS = [{"id": node["id"], "title": " ".join(node["title"].split()), "status": node["status"]} for node in NODES]
PM, T2 = f"pm-feature-{FEATURE}", f"dev-task-{FEATURE}-t2-in_dev"


@pytest.fixture
def contexts(project: SampleProject) -> Iterator[Contexts]:
    made = Contexts(project.root)
    yield made
    made.store.close()


@pytest.fixture
def wait(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Let time pass for dagentd."""
    ahead, real = [0.0], clock.monotonic
    monkeypatch.setattr(clock, "monotonic", lambda: real() + sum(ahead))
    return ahead.append


def limited(tokens: int) -> Settings:
    settings = Settings()
    return replace(settings, context=replace(settings.context, max_claude_md_tokens=tokens))


def furnish(project: SampleProject) -> None:
    """A feature with everything in it, in a worktree with two commits."""
    (project.worktree / "src").mkdir()
    (project.worktree / "src" / "main.py").write_text("print()\n")
    (project.worktree / "CLAUDE.md").write_text("# Rules\n\n@docs/style.md\n")
    (project.worktree / "docs").mkdir()
    (project.worktree / "docs" / "style.md").write_text("Short lines.\n")
    (project.worktree / "PROJECT.md").write_text("A shop.\n")
    git(project.worktree, "add", "src", "CLAUDE.md", "docs", "PROJECT.md")
    git(project.worktree, "commit", "-q", "-m", "Add the code")
    (project.worktree / "new.txt").write_text("")
    fill(project.dagent)


def fill(folder: Path) -> None:
    feature = json.loads((folder / "feature.json").read_text())
    write_json(folder / "feature.json", {**feature, "description": "Sign in with GitHub"})
    write_json(folder / "dag.json", DAG)
    (folder / "spec.md").write_text("# Spec\n")
    (folder / "attachments").mkdir()
    (folder / "attachments" / "note.txt").write_text("Use GitHub.\n")
    (folder / "attachments" / "shot.png").write_bytes(b"\x89PNG\0")


def golden(project: SampleProject) -> dict[str, object]:
    commits = git(project.worktree, "log", "--format=%H").split()
    return {
        "projectRoot": str(project.root),
        "worktree": str(project.worktree),
        "featureId": FEATURE,
        "featureName": "Login",
        "featureGoal": "Sign in with GitHub",
        "dagSummary": "3 tasks: 1 complete, 1 in progress, 1 pending",
        "projectStructure": "CLAUDE.md\nPROJECT.md\nREADME.md\ndocs/\n  style.md\nnew.txt\nsrc/\n  main.py",
        "claudeMd": "# Rules\n\n@docs/style.md\n\nContents of docs/style.md:\n\nShort lines.",
        "projectMd": "A shop.",
        "spec": "# Spec",
        "attachments": [
            {"name": "note.txt", "size": 12, "content": "Use GitHub.\n"},
            {"name": "shot.png", "size": 5},
        ],
        "recentCommits": [f"{commits[0][:7]} - Add the code", f"{commits[1][:7]} - Start"],
        "gitBranch": f"feature/{FEATURE}",
        "gitCommit": commits[0],
    }


def without_sizes(document: dict[str, object]) -> dict[str, object]:
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", str(document["updatedAt"]))
    sizes = document["tokens"]
    assert isinstance(sizes, dict)
    assert sizes["total"] == sum(size for name, size in sizes.items() if name != "total") > 50
    counted = {name for name in document if name not in ("tokens", "updatedAt", "notes")}
    assert sizes.keys() - {"total"} == {name for name in counted if document[name]}
    return {name: value for name, value in document.items() if name not in ("tokens", "updatedAt")}


# --- what they say ---------------------------------------------------------------------------------------------------


def test_the_context_of_a_feature(project: SampleProject, contexts: Contexts) -> None:
    furnish(project)
    document = contexts.document(FEATURE)
    assert without_sizes(document) == {**golden(project), "tasks": TASKS}
    assert list(document)[:3] == ["projectRoot", "worktree", "featureId"]


def test_the_context_of_a_task(project: SampleProject, contexts: Contexts) -> None:
    furnish(project)
    path = contexts.session(FEATURE, "t2")
    unknown = contexts.session(FEATURE, "t9", "qa", "in_qa")
    assert len(contexts.written(FEATURE)) == 2
    task = {
        "taskId": "t2",
        "taskTitle": "OAuth flow",
        "taskState": "in_dev",
        "dependencies": ["t1", "t0"],
        "dependencyInfo": TASKS[:1],
        "dependents": ["t3"],
        "dependentInfo": TASKS[2:],
    }
    assert without_sizes(read(path)) == {**golden(project), **task}
    other = {"taskId": "t9", "taskState": "in_qa", "dependencies": [], "dependents": []}
    assert without_sizes(read(unknown)) == {**golden(project), **other}


def test_the_context_of_a_nested_feature_in_the_project_itself(repo: Path) -> None:
    folder = repo / ".dagent" / "features" / "cart"
    write_json(folder / "feature.json", {"id": "cart", "name": "Cart"})
    fill(folder)
    contexts = Contexts(repo)
    path = contexts.session("cart", "t2")
    contexts.rebuild("cart")
    assert path == folder / "sessions" / "dev-task-cart-t2-in_dev" / "context.json"
    document = read(path)
    assert (document["projectRoot"], document["worktree"]) == (str(repo), str(repo))
    assert (document["featureId"], document["featureName"], document["taskTitle"]) == ("cart", "Cart", "OAuth flow")
    assert (document["gitBranch"], document["projectStructure"]) == ("main", "README.md")
    contexts.store.close()


def test_a_session_under_a_task_is_one_of_that_task(project: SampleProject, contexts: Contexts) -> None:
    furnish(project)
    sessions = project.dagent / "nodes" / "t2" / "sessions"
    write_json(sessions / "session_8f14.json", {"id": "8f14", "type": "task", "agentType": "dev"})
    assert contexts.written(FEATURE) == ["8f14"]
    document = read(sessions / "context_8f14.json")
    assert (document["taskId"], document["dependents"]) == ("t2", ["t3"])


def test_a_request_shows_it(project: SampleProject, contexts: Contexts) -> None:
    furnish(project)
    shown = sections.context(Context.parse(contexts.document(FEATURE)))
    for text in (str(project.worktree), "Short lines.", "Sign in with GitHub", "# Spec", "Use GitHub.", "Add the code"):
        assert text in shown


@pytest.mark.parametrize(
    ("head", "branch", "commits"),
    [("detached", None, 1), ("unborn", "empty", 0)],
)
def test_a_head_without_branch_or_commit(
    project: SampleProject, contexts: Contexts, head: str, branch: str | None, commits: int
) -> None:
    if head == "detached":
        git(project.worktree, "checkout", "-q", "--detach")
    else:
        git(project.worktree, "checkout", "-q", "--orphan", "empty")
    document = contexts.document(FEATURE)
    assert document["gitBranch"] == branch
    assert len(document["recentCommits"]) == commits
    assert (document["gitCommit"] is None) == (head == "unborn")


def test_a_git_folder_that_makes_no_sense_costs_what_git_knows(project: SampleProject, contexts: Contexts) -> None:
    contexts.document(FEATURE)
    (project.worktree / ".git").write_text(f"gitdir: /{'x' * 300}\n")  # even root is told that the name is too long
    document = contexts.document(FEATURE)
    assert document["featureName"] == "Login"
    assert len(document["notes"]) == 1


def test_a_folder_that_is_no_checkout_has_the_rest(repo: Path) -> None:
    folder = repo / ".dagent-worktrees" / "plain"
    write_json(folder / ".dagent" / "feature.json", {"name": "Plain"})
    (folder / "CLAUDE.md").write_text("Rules\n")
    contexts = Contexts(repo)
    document = contexts.document("plain")
    assert not {"gitBranch", "gitCommit", "recentCommits", "projectStructure"} & document.keys()
    assert (document["claudeMd"], document["featureName"]) == ("Rules", "Plain")
    assert "not the worktree of a git repository" in document["notes"][0]
    contexts.store.close()


@pytest.mark.parametrize(
    ("name", "content", "lost", "note"),
    [
        ("feature.json", "[1]", {"featureName", "featureGoal"}, "must hold an object"),
        ("feature.json", '{"name": ["x"], "description": {}, "attachments": 7}', {"featureName", "featureGoal"}, ""),
        ("dag.json", '{"nodes": [', {"dagSummary"}, "is not valid JSON"),
        ("dag.json", '{"nodes": 7}', {"dagSummary"}, "has a wrong 'nodes'"),
        ("dag.json", '{"nodes": [{"id": [], "status": {}, "dependencies": [[], null]}]}', set(), ""),
        ("spec.md", "a\0b", {"spec"}, "NUL"),
    ],
)
def test_a_bad_file_costs_its_own_part(
    project: SampleProject, contexts: Contexts, name: str, content: str, lost: set[str], note: str
) -> None:
    furnish(project)
    path = contexts.session(FEATURE)
    (project.dagent / name).write_text(content)
    contexts.rebuild(FEATURE)
    document = read(path)
    assert golden(project).keys() - document.keys() == lost
    assert document.get("notes", []) == [] if not note else [note in each for each in document["notes"]] == [True]
    assert all(f".dagent/{name}: " in each for each in document.get("notes", []))


def test_a_graph_of_ten_thousand_tasks(project: SampleProject, contexts: Contexts) -> None:
    nodes = [{"id": f"t{n}", "title": "x" * 500, "dependencies": [f"t{n - 1}", "t0"]} for n in range(10_000)]
    write_json(project.dagent / "dag.json", {"nodes": nodes})
    path = contexts.session(FEATURE, "t0")
    contexts.rebuild(FEATURE)
    document = read(path)
    assert document["dagSummary"].startswith("10000 tasks: ")
    assert (len(document["taskTitle"]), len(document["dependents"])) == (300, 200)


# --- sizes -----------------------------------------------------------------------------------------------------------


def test_what_is_too_long_is_cut_with_a_note(project: SampleProject) -> None:
    furnish(project)
    (project.worktree / "CLAUDE.md").write_text("".join(f"Rule {number}: do this.\n" for number in range(2000)))
    (project.dagent / "spec.md").write_text("Everything. " * 5000)
    (project.dagent / "attachments" / "note.txt").write_text("note\n" * 1000)
    contexts = Contexts(project.root, limited(500))
    document = contexts.document(FEATURE)
    assert document["tokens"]["claudeMd"] <= 500
    assert document["tokens"]["spec"] <= 250
    assert document["claudeMd"].startswith("Rule 0: do this.\nRule 1: ")
    assert re.search(r"\n\[dagentd left out \d+ of 2000 lines \(\d+ of \d+ characters\)\]$", document["claudeMd"])
    assert document["attachments"][0] == {"name": "note.txt", "size": 5000}
    assert [note.split(":")[0] for note in document["notes"]] == ["claudeMd", "spec"]
    assert contexts.written(FEATURE, fresh=True) == []
    contexts.settings = limited(1_000_000)
    whole = contexts.document(FEATURE)
    assert (whole["claudeMd"].count("\n"), "notes" in whole) == (1999, False)
    contexts.settings = limited(500)
    assert contexts.document(FEATURE)["claudeMd"] == document["claudeMd"]
    contexts.store.close()


def test_what_others_keep_in_it_outlives_a_power_failure(
    project: SampleProject, contexts: Contexts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It cannot be made again: the file is synced before it gets its name."""
    path = contexts.session(FEATURE)
    contexts.rebuild(FEATURE)
    for theirs, synced in (({}, []), ({"theirs": 1}, ["fsync", "fsync"])):
        write_json(path, read(path) | theirs)
        git(project.worktree, "commit", "-q", "--allow-empty", "-m", "More")
        steps = Steps(monkeypatch)
        assert contexts.written(FEATURE) == [PM]
        assert [what for what, _ in steps.taken() if what == "fsync"] == synced
        assert read(path).items() >= theirs.items()


def test_nothing_is_counted_unless_it_is_written(
    project: SampleProject, contexts: Contexts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The vocabulary is 49 MB: a daemon that finds everything as it was does without."""
    (project.worktree / "CLAUDE.md").write_text("Some rule of this project.\n" * 1000)
    contexts.document(FEATURE)
    again = Contexts.__new__(Contexts)
    again.__dict__ |= {**contexts.__dict__, "shared": type(contexts.shared)()}
    monkeypatch.setattr(tokens, "count", lambda text: pytest.fail("counted"))
    assert again.written(FEATURE) == []


# --- when they are written -------------------------------------------------------------------------------------------


def test_an_outside_change_writes_each_context_once_and_then_nothing(
    project: SampleProject, contexts: Contexts, monkeypatch: pytest.MonkeyPatch
) -> None:
    furnish(project)
    paths = {contexts.session(FEATURE), contexts.session(FEATURE, "t2"), contexts.session(FEATURE, "t3")}
    contexts.rebuild(FEATURE)
    contexts.store.close()
    contexts = Contexts(project.root)
    steps = Steps(monkeypatch)
    assert contexts.written(FEATURE) == []
    changes: list[Callable[[], object]] = [
        lambda: (project.worktree / "CLAUDE.md").write_text("Other"),
        lambda: (project.worktree / "docs" / "style.md").write_text("Other"),
        lambda: (project.worktree / "PROJECT.md").unlink(),
        lambda: (project.worktree / "another.txt").write_text(""),
        lambda: git(project.worktree, "commit", "-q", "--allow-empty", "-m", "Next"),
        lambda: git(project.worktree, "checkout", "-q", "-b", "renamed"),
        lambda: (project.dagent / "spec.md").write_text("Other"),
        lambda: write_json(project.dagent / "feature.json", {"id": FEATURE, "name": "Other"}),
        lambda: write_json(project.dagent / "dag.json", {"nodes": []}),
        lambda: (project.dagent / "attachments" / "shot.png").unlink(),
    ]
    (project.worktree / "CLAUDE.md").write_text("@docs/style.md")
    contexts.rebuild(FEATURE)
    for change in changes[1:] + changes[:1]:
        change()
        steps.taken()
        contexts.events.clear()
        assert len(contexts.written(FEATURE)) == 3
        assert {path for what, path in steps.taken() if what == "rename"} == paths
        assert sorted(event["session_id"] for event in contexts.events) == sorted([PM, T2, T2.replace("t2", "t3")])
        for fresh in (False, True):
            assert contexts.written(FEATURE, fresh=fresh) == []
        assert steps.taken() == []
    assert [event.get("task_id") for event in contexts.events] == ["t2", "t3", None]
    contexts.store.close()


def test_only_what_changed_is_written(project: SampleProject, contexts: Contexts) -> None:
    """A task that gets another title concerns its own sessions, those of its neighbours, and who plans them."""
    furnish(project)
    contexts.session(FEATURE)
    contexts.session(FEATURE, "t2")
    contexts.session(FEATURE, "t3")
    contexts.session(FEATURE, "t9")
    contexts.rebuild(FEATURE)
    first, second, third = NODES
    write_json(project.dagent / "dag.json", {**DAG, "nodes": [first, {**second, "title": "New"}, third]})
    assert contexts.written(FEATURE) == [T2, T2.replace("t2", "t3"), PM]


def test_updated_at_changes_only_with_something_else(
    project: SampleProject, contexts: Contexts, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = contexts.session(FEATURE)
    contexts.rebuild(FEATURE)
    before = read(path)
    monkeypatch.setattr(clock, "stamp", lambda: "2031-01-01T00:00:00.000Z")
    contexts.rebuild(FEATURE)
    assert read(path) == before
    (project.worktree / "CLAUDE.md").write_text("Rule\n")
    contexts.rebuild(FEATURE)
    assert read(path)["updatedAt"] == "2031-01-01T00:00:00.000Z"


def test_a_commit_in_one_worktree_writes_nothing_in_another(
    project: SampleProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = project.root / ".dagent-worktrees" / "other"
    git(project.root, "worktree", "add", "-q", "-b", "other", str(other))
    write_json(other / ".dagent" / "feature.json", {"name": "Other"})
    contexts = Contexts(project.root)
    mine, theirs = contexts.session(FEATURE), contexts.session("other")
    contexts.rebuild(FEATURE)
    contexts.rebuild("other")
    git(project.worktree, "commit", "-q", "--allow-empty", "-m", "Mine")
    steps = Steps(monkeypatch)
    assert contexts.written("other", fresh=True) == []
    assert steps.taken() == []
    assert contexts.written(FEATURE) == [PM]
    assert {path for what, path in steps.taken() if what == "rename"} == {mine}
    assert theirs.exists()
    contexts.store.close()


def test_what_the_features_of_a_worktree_share_is_read_once(
    project: SampleProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two", "three"):
        write_json(project.dagent / "features" / name / "feature.json", {"name": name})
    contexts = Contexts(project.root)
    for name in ("one", "two", "three"):
        contexts.session(name)
    monkeypatch.setattr(checkouts, "_TICK", 0)  # else what was written just now is not trusted
    snapshots = _counted(monkeypatch, repository, "snapshot")
    assert [contexts.written(name) for name in ("one", "two", "three")] == [
        ["pm-feature-one"],
        ["pm-feature-two"],
        ["pm-feature-three"],
    ]
    assert snapshots == [project.worktree]
    contexts.store.close()


def test_after_a_commit_only_git_is_read(
    project: SampleProject, contexts: Contexts, monkeypatch: pytest.MonkeyPatch
) -> None:
    furnish(project)
    contexts.session(FEATURE)
    monkeypatch.setattr(checkouts, "_TICK", 0)
    (spec := project.dagent / "spec.md").write_text("One")
    contexts.rebuild(FEATURE)
    read = [
        _counted(monkeypatch, *each)
        for each in ((repository, "snapshot"), (instructions, "rules"), (feature_parts, "read"))
    ]
    remembered = _counted(monkeypatch, contexts.store.memory, "told")
    git(project.worktree, "commit", "-q", "--allow-empty", "-m", "Next")
    assert contexts.document(FEATURE)["recentCommits"][0].endswith("Next")
    assert [len(each) for each in read] == [1, 0, 0] and not remembered
    (project.worktree / "CLAUDE.md").write_text("Other")
    assert contexts.document(FEATURE)["claudeMd"] == "Other"
    assert [len(each) for each in read] == [1, 1, 0] and not remembered
    status = spec.stat()
    spec.write_text("Two")
    os.utime(spec, ns=(status.st_atime_ns, status.st_mtime_ns))  # as a program that puts back the time does
    assert contexts.document(FEATURE)["spec"] == "Two"
    assert [len(each) for each in read] == [1, 1, 1]
    contexts.store.memory.add("Tokens live an hour.", "user")
    assert [each["text"] for each in contexts.document(FEATURE)["remembered"]] == ["Tokens live an hour."]
    assert [len(each) for each in read] == [1, 1, 2]
    contexts.rebuild(FEATURE, fresh=True)
    assert [len(each) for each in read] == [2, 2, 3]


def _counted(monkeypatch: pytest.MonkeyPatch, module: ModuleType | Memory, name: str) -> list[object]:
    """What a function is first given, with each call of it."""
    given: list[object] = []
    real = getattr(module, name)

    def counted(first: object, *others: object, **more: object) -> object:
        given.append(first)
        return real(first, *others, **more)

    monkeypatch.setattr(module, name, counted)
    return given


def test_sources_are_the_files_that_are_not_known_by_their_names(project: SampleProject, contexts: Contexts) -> None:
    furnish(project)
    (project.worktree / "CLAUDE.md").write_text("@docs/style.md @docs/missing.md @README.md @/etc/hosts\n")
    (project.worktree / "shared").mkdir()
    (project.worktree / "shared" / "logo.png").write_bytes(b"\0")
    write_json(project.dagent / "feature.json", {"id": FEATURE, "attachments": ["shared/logo.png"]})
    docs = project.worktree / "docs"
    assert contexts.rebuild(FEATURE).sources == {
        docs / "style.md", docs / "missing.md", project.worktree / "shared" / "logo.png",
        project.worktree / "README.md",
    }  # fmt: skip
    (project.worktree / "CLAUDE.md").unlink()
    assert contexts.rebuild(FEATURE).sources == {project.worktree / "shared" / "logo.png"}


# --- beside other writers --------------------------------------------------------------------------------------------


def test_fields_of_others_stay_and_ours_are_put_right(project: SampleProject, contexts: Contexts) -> None:
    furnish(project)
    path = contexts.session(FEATURE)
    theirs = {"sessionId": "x", "project": {"structure": []}, "featureName": "Old", "taskId": "none", "tokens": 7}
    write_json(path, theirs)
    contexts.rebuild(FEATURE)
    document = read(path)
    assert (document.pop("sessionId"), document.pop("project")) == ("x", {"structure": []})
    about = {"taskId": "none", "dependencies": [], "dependents": []}  # which task it is about, its app says
    assert without_sizes(document) == {**golden(project), "tasks": TASKS, **about}


@pytest.mark.parametrize("content", [b'{"mine": 1, "cut', b"[]", b"\xff\xfe", b"", b"\0\0\0"])
def test_a_damaged_context_is_made_anew_and_its_bytes_are_kept(
    project: SampleProject, contexts: Contexts, content: bytes, wait: Callable[[float], None]
) -> None:
    """When they have been so for the settle time: they may be half of what somebody writes just now."""
    path = contexts.session(FEATURE)
    path.write_bytes(content)
    assert contexts.written(FEATURE) == [] and contexts.store.contexts.due(path) is not None
    wait(1)
    assert contexts.written(FEATURE) == [PM] and contexts.store.contexts.due(path) is None
    assert read(path)["featureName"] == "Login"
    kept = [each.read_bytes() for each in path.parent.glob("*.corrupt.*")]
    assert kept == ([content] if content.strip(b"\0") else [])
    path.write_bytes(content)
    contexts.rebuild(FEATURE)
    wait(1)
    contexts.rebuild(FEATURE)
    assert len(list(path.parent.glob("*.corrupt.*"))) == len(kept)


def test_one_that_cannot_be_written_stops_no_other(project: SampleProject, contexts: Contexts) -> None:
    path = contexts.session(FEATURE, "t2")
    contexts.session(FEATURE)
    path.mkdir()
    rebuilt = contexts.rebuild(FEATURE)
    assert [folder.id for folder in rebuilt.written] == [PM]
    ((folder, error),) = rebuilt.errors
    assert (folder.id, error.path) == (T2, str(path))
    with pytest.raises(NotAllowed):
        rebuild_one(contexts.store, folder, contexts.settings, contexts.shared)


def test_nothing_is_written_without_the_lock(project: SampleProject, contexts: Contexts) -> None:
    path = contexts.session(FEATURE)
    reader = Store(project_at(project.root), Index(None), read_only=True)
    assert rebuild(reader, contexts.feature(FEATURE), contexts.settings, contexts.shared).written == ()
    assert not path.exists()
    with pytest.raises(NotAllowed, match="read-only"):
        rebuild_one(reader, reader.catalogue.find(PM), contexts.settings, contexts.shared)
    reader.close()


def test_nothing_is_written_for_a_session_of_a_newer_version(project: SampleProject, contexts: Contexts) -> None:
    path = contexts.session(FEATURE)
    journal = path.parent / f"history_{PM}.jsonl"
    contexts.store.close()
    with journal.open("a") as file:
        file.write('{"t": "folded", "at": "2031-01-01T00:00:00.000Z"}\n')
    contexts = Contexts(project.root)
    contexts.store.reconciler.reconcile()
    assert contexts.written(FEATURE) == []
    assert not path.exists()
    contexts.store.close()


def test_a_worktree_that_is_removed_does_not_come_back(project: SampleProject, contexts: Contexts) -> None:
    path = contexts.session(FEATURE)
    feature = contexts.feature(FEATURE)
    contexts.rebuild(FEATURE)
    (project.worktree / ".git").unlink()
    path.unlink()
    assert rebuild(contexts.store, feature, contexts.settings, contexts.shared).written == ()
    assert not path.exists()
    shutil.rmtree(project.worktree)
    assert rebuild(contexts.store, feature, contexts.settings, contexts.shared).written == ()
    assert not project.worktree.exists()


def test_the_folder_of_a_session_is_not_made(project: SampleProject, contexts: Contexts) -> None:
    contexts.session(FEATURE)
    folder = contexts.store.catalogue.find(PM)
    shutil.rmtree(folder.path)
    assert contexts.rebuild(FEATURE).written == ()
    assert not contexts.store.contexts.renew(folder, lambda _: {"a": 1}, None)
    assert not folder.path.exists()


def test_no_context_is_made_in_a_folder_that_is_being_removed(contexts: Contexts) -> None:
    contexts.session(FEATURE)
    folder = contexts.store.catalogue.find(PM)

    def made_late(_: dict[str, Any]) -> dict[str, Any]:
        for path in list(folder.path.iterdir()):
            path.unlink()
        return {"a": 1}

    assert not contexts.store.contexts.renew(folder, made_late, None)
    folder.path.rmdir()


def test_a_context_that_git_removed_first_is_not_made_again(contexts: Contexts, wait: Callable[[float], None]) -> None:
    """Git was held up between the first file of a session and the next, and then found one more in the folder."""
    path = contexts.session(FEATURE)
    contexts.rebuild(FEATURE)
    path.unlink()
    assert contexts.rebuild(FEATURE).written == () and contexts.store.contexts.due(path) is not None
    path.with_name(path.name.replace("context", "chat")).unlink()
    wait(GONE_FOR)
    assert contexts.rebuild(FEATURE).written == () and not path.exists()


def test_a_context_that_somebody_removed_is_made_again_later(contexts: Contexts, wait: Callable[[float], None]) -> None:
    path = contexts.session(FEATURE)
    assert contexts.rebuild(FEATURE).written and contexts.store.contexts.due(path) is None, (
        "a new one waits for nothing"
    )
    path.unlink()
    assert contexts.rebuild(FEATURE).written == ()
    wait(GONE_FOR)
    assert contexts.rebuild(FEATURE).written and contexts.store.contexts.due(path) is None
    contexts.store.let_go(contexts.feature(FEATURE))
    path.unlink()
    assert contexts.rebuild(FEATURE).written, "nor does one of a feature that came anew"


def test_nobody_comes_again_and_again_for_a_context_that_nobody_makes(
    contexts: Contexts, wait: Callable[[float], None]
) -> None:
    path = contexts.session(FEATURE)
    contexts.rebuild(FEATURE)
    path.unlink()
    contexts.rebuild(FEATURE)
    wait(GONE_FOR + PATIENCE + 1)
    assert contexts.store.contexts.due(path) is None


def test_no_context_is_made_where_nothing_is_left_of_a_session(contexts: Contexts) -> None:
    contexts.session(FEATURE)
    folder = contexts.store.catalogue.find(PM)
    for path in list(folder.path.iterdir()):
        path.unlink()
    assert not contexts.store.contexts.renew(folder, lambda _: {"a": 1}, None)
    folder.path.rmdir()


def test_no_context_is_made_of_a_session_of_which_nothing_is_known_yet(contexts: Contexts) -> None:
    """Its journal is there before its document: it told an agent of no task, for a moment."""
    path = contexts.session(FEATURE, "t2")
    contexts.store.let_go(contexts.feature(FEATURE))
    until(lambda: all(session.closed for _, session in contexts.store.sessions._noted()), "closing it")
    document = path.with_name(path.name.replace("context", "session"))
    held = document.read_bytes()
    document.unlink()
    assert contexts.rebuild(FEATURE).written == ()
    assert not path.exists()
    document.write_bytes(held)
    assert [folder.id for folder in contexts.rebuild(FEATURE).written] == [T2]
    assert read(path)["taskId"] == "t2"


def test_everything_due_is_done_at_once(project: SampleProject) -> None:
    contexts = Contexts(project.root)
    path = contexts.session(FEATURE)
    report = due.in_project(contexts.store, contexts.settings)
    assert [line.done for line in report.lines] == ["context written"]
    assert read(path)["featureName"] == "Login"
    assert [line.done for line in due.in_project(contexts.store, contexts.settings).lines] == [""]
    contexts.store.close()


def test_a_change_in_the_same_tick_of_the_clock_is_seen(project: SampleProject, contexts: Contexts) -> None:
    """Of the same length and with the same time of change: a file that may yet get such a twin is not trusted."""
    path, rules = contexts.session(FEATURE), project.worktree / "CLAUDE.md"
    soon = time.time() + 60
    for rule in "ABC":
        rules.write_text(rule)
        os.utime(rules, (soon, soon))
        contexts.rebuild(FEATURE)
        assert read(path)["claudeMd"] == rule


def test_features_of_a_worktree_are_rebuilt_beside_each_other(project: SampleProject) -> None:
    names = [f"f{number}" for number in range(6)]
    for name in names:
        write_json(project.dagent / "features" / name / "feature.json", {"name": name})
    contexts = Contexts(project.root)
    paths = [contexts.session(name) for name in names]
    features = [contexts.feature(name) for name in names]
    with ThreadPoolExecutor(12) as threads:
        for number in range(5):
            git(project.worktree, "commit", "-q", "--allow-empty", "-m", f"Commit {number}")
            rebuilt = threads.map(
                lambda feature: rebuild(contexts.store, feature, contexts.settings, contexts.shared), features * 2
            )
            assert [each.errors for each in rebuilt] == [()] * 12
            commit = git(project.worktree, "rev-parse", "HEAD")
            assert [read(path)["gitCommit"] for path in paths] == [commit] * 6
    contexts.store.close()


# --- when the system fails -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EIO])
def test_a_file_that_cannot_be_read_just_now_is_read_the_next_time(
    project: SampleProject, contexts: Contexts, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Out of descriptors, a context lost the rules of its project, and what was read was held until they changed."""
    (project.worktree / "CLAUDE.md").write_text("Be brief.")
    path = contexts.session(project.feature)
    with monkeypatch.context() as patch:
        patch.setattr(fileio, "descriptor", failing(fileio.descriptor, "CLAUDE.md", number))
        if number == errno.EMFILE:
            with pytest.raises(LimitReached, match="too many files"):
                contexts.rebuild(project.feature)
            assert not path.exists(), "without its rules a context is worse than none"
        else:
            contexts.rebuild(project.feature)
            assert "CLAUDE.md: the system says" in read(path)["notes"][0]
    contexts.rebuild(project.feature)
    assert read(path)["claudeMd"] == "Be brief."


def failing(opened: Callable[..., int], name: str, number: int) -> Callable[..., int]:
    def open_(path: Path, *more: Any) -> int:
        if path.name == name:
            raise OSError(number, os.strerror(number), str(path))
        return opened(path, *more)

    return open_
