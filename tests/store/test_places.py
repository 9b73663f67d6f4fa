"""What a change of each file of a project asks for: the table of folders that are watched, applied to names."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from dagentd.model.project import FeatureFolder, Tree
from dagentd.model.triggers import (
    Collect,
    Look,
    Migrate,
    Moved,
    Place,
    Reconcile,
    Renew,
    RenewTree,
    Survey,
    Trigger,
    triggers_of,
)
from dagentd.store.layout import layout, watch_plan
from tests.store.place import FEATURE, NESTED, PM, PM_NESTED
from tests.store.place import Place as Sample

TASK = "task-1"


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    """A flat feature with a prefixed session, a nested one with a session folder, a task each."""
    made = Sample(tmp_path / "repo").make()
    for folder, name in ((made.flat / "sessions", f"session_{PM}.json"), (made.pm_nested.folder, "session.json")):
        folder.mkdir(parents=True)
        (folder / name).write_text(json.dumps({"id": PM}))
    for feature in (made.flat, made.nested):
        (feature / "nodes" / TASK / "sessions").mkdir(parents=True)
        (feature / "attachments").mkdir()
    return made


def flat(sample: Sample) -> FeatureFolder:
    return FeatureFolder(FEATURE, sample.flat, Tree(sample.flat, sample.flat.parent), "flat")


def nested(sample: Sample) -> FeatureFolder:
    tree = Tree(sample.root / ".dagent", sample.root)
    return FeatureFolder(NESTED, sample.nested, tree, "nested")


def watched(sample: Sample, imported: Iterable[Path] = ()) -> dict[Path, Place]:
    found = watch_plan.of_project(sample.project)
    for tree in layout.checkouts(sample.project):
        main = tree.worktree == sample.root
        found |= watch_plan.of_tree(tree, sample.root / ".git" if main else None, () if main else imported)
    return found


def change(sample: Sample, path: Path, *, imported: Iterable[Path] = ()) -> set[Trigger]:
    """As the daemon asks: a folder is one that is there, or one that is watched."""
    found = watched(sample, imported)
    folder = path in found or path.is_dir()
    place = found.get(path.parent)
    return set(triggers_of(place, path.name, folder=folder, gone=not os.path.lexists(path))) if place else set()


def touched(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}")
    return path


@pytest.mark.parametrize("name", ["session", "chat", "checkpoint", "memory"])
def test_a_document_that_others_write_is_looked_at(sample: Sample, name: str) -> None:
    prefixed = touched(sample.flat / "sessions" / f"{name}_{PM}.json")
    assert change(sample, prefixed) == {Look(flat(sample), PM)}
    in_folder = touched(sample.pm_nested.folder / f"{name}.json")
    assert change(sample, in_folder) == {Look(nested(sample), PM_NESTED)}


def test_a_session_that_is_new_is_looked_at(sample: Sample) -> None:
    assert change(sample, touched(sample.flat / "sessions" / "session_other.json")) == {Look(flat(sample), "other")}
    task = touched(sample.flat / "nodes" / TASK / "sessions" / "chat_new.json")  # it may also be of an older format
    assert change(sample, task) == {Look(flat(sample), "new"), Migrate(flat(sample))}
    (sample.nested / "sessions" / "other").mkdir()
    assert change(sample, sample.nested / "sessions" / "other") == {Survey(nested(sample).tree)}


def test_a_file_of_an_older_format_is_to_be_migrated(sample: Sample) -> None:
    for path in ("chat.json", f"nodes/{TASK}/chat.json", f"nodes/{TASK}/session.json", "sessions/old.json"):
        assert change(sample, touched(sample.flat / path)) == {Migrate(flat(sample))}
        (sample.flat / path).unlink()
        assert change(sample, sample.flat / path) == set()
    assert change(sample, touched(sample.nested / "chat.json")) == {Migrate(nested(sample))}


def test_a_document_with_a_name_of_its_own_is_looked_at(sample: Sample) -> None:
    touched(sample.flat / "sessions" / "talk.json")
    named = {"id": PM, "files": {"chat": "talk.json"}}
    (sample.flat / "sessions" / f"session_{PM}.json").write_text(json.dumps(named))
    assert change(sample, sample.flat / "sessions" / "talk.json") == {Look(flat(sample), PM)}


@pytest.mark.parametrize("name", ["context", "agent-description", "history", ".chat"])
def test_what_has_one_writer_or_can_be_made_anew_asks_for_nothing(sample: Sample, name: str) -> None:
    suffix = ".jsonl" if name == "history" else ".json"
    assert change(sample, touched(sample.flat / "sessions" / f"{name}_{PM}{suffix}")) == set()
    assert change(sample, touched(sample.pm_nested.folder / f"{name}{suffix}")) == set()


def test_a_document_that_is_gone_is_not_made_again_in_reaction(sample: Sample) -> None:
    assert change(sample, sample.flat / "sessions" / f"chat_{PM}.json") == set()
    assert change(sample, sample.pm_nested.folder / "chat.json") == set()


def test_a_folder_of_sessions_that_is_gone_is_missed(sample: Sample) -> None:
    before = watched(sample)
    place, folder = before[sample.nested / "sessions"], sample.pm_nested.folder
    assert folder in before
    assert triggers_of(place, folder.name, folder=True, gone=True) == {Survey(nested(sample).tree)}


@pytest.mark.parametrize("name", ["feature.json", "dag.json", "spec.md", "feature-spec.md", "attachments/plan.png"])
def test_what_a_feature_s_context_is_made_of(sample: Sample, name: str) -> None:
    for feature in (flat(sample), nested(sample)):
        survey = {Survey(feature.tree)} if name == "feature.json" else set()
        assert change(sample, touched(feature.path / name)) == {Renew(feature)} | survey


def test_a_task_that_may_have_ended_or_gone_on(sample: Sample) -> None:
    assert change(sample, touched(sample.flat / "nodes" / TASK / "task.json")) == {Renew(flat(sample))}
    assert change(sample, touched(sample.flat / "nodes" / TASK / "plan.json")) == {Renew(flat(sample))}


@pytest.mark.parametrize("name", ["CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "PROJECT.md"])
def test_the_rules_in_a_checkout(sample: Sample, name: str) -> None:
    tree = flat(sample).tree
    assert change(sample, touched(tree.worktree / name)) == {RenewTree(tree)}
    (tree.worktree / name).unlink()
    assert change(sample, tree.worktree / name) == {RenewTree(tree)}


def test_rules_elsewhere_in_a_checkout(sample: Sample) -> None:
    tree = flat(sample).tree
    rules = touched(tree.worktree / "docs" / "style.md")
    assert change(sample, rules) == set()
    assert change(sample, rules, imported=[rules]) == {RenewTree(tree)}
    assert change(sample, touched(rules.with_name("other.md")), imported=[rules]) == set()
    for name in ("style.md", ".dagent/style.md"):
        rules = touched(tree.worktree / name)
        assert change(sample, rules, imported=[rules]) == {RenewTree(tree)}
    rules = tree.worktree / "later" / "deep" / "style.md"
    assert change(sample, tree.worktree / "later", imported=[rules]) == {RenewTree(tree), Survey(tree)}
    assert change(sample, tree.worktree / "other", imported=[rules]) == set()
    (tree.worktree / ".claude").mkdir()
    assert change(sample, tree.worktree / ".claude") == {RenewTree(tree), Survey(tree)}
    assert change(sample, touched(tree.worktree / ".claude" / "CLAUDE.md")) == {RenewTree(tree)}


@pytest.mark.parametrize("name", ["src", "node_modules", "index.js", ".env"])
def test_a_checkout_s_own_files_are_none_of_ours(sample: Sample, name: str) -> None:
    (sample.flat.parent / name).mkdir()
    assert change(sample, sample.flat.parent / name) == set()
    assert not any(path.name == name for path in watched(sample))


@pytest.mark.parametrize("name", ["HEAD", "ORIG_HEAD", "logs/HEAD", "rebase-merge"])
def test_head_moves(sample: Sample, name: str) -> None:
    assert change(sample, touched(sample.root / ".git" / name)) == {Moved(nested(sample).tree)}


@pytest.mark.parametrize("name", ["index", "index.lock", "config", "packed-refs", "logs/refs", "FETCH_HEAD"])
def test_what_else_git_writes(sample: Sample, name: str) -> None:
    (sample.root / ".git" / "logs").mkdir()
    assert change(sample, touched(sample.root / ".git" / name)) == set()


def test_checkouts_and_trees_come_and_go(sample: Sample) -> None:
    tree = flat(sample).tree
    (sample.root / ".dagent-worktrees" / "new").mkdir()
    assert change(sample, sample.root / ".dagent-worktrees" / "new") == {Survey()}
    assert change(sample, touched(sample.root / ".dagent-worktrees" / "notes.txt")) == set()
    assert change(sample, tree.worktree) == {Survey()}
    assert change(sample, tree.path) == {Survey()}
    assert change(sample, sample.root / ".dagent-worktrees") == {Survey()}
    assert change(sample, sample.nested) == {Survey(nested(sample).tree)}


def test_a_tree_becomes_a_feature(sample: Sample) -> None:
    tree = nested(sample).tree
    assert change(sample, touched(tree.path / "feature.json"))  # the sample has it now as a flat feature
    (tree.path / "feature.json").unlink()
    place = watched(sample)[tree.path]
    assert triggers_of(place, "feature.json", folder=False, gone=False) == {Survey(tree)}
    (tree.path / "sessions").mkdir()
    assert triggers_of(place, "sessions", folder=True, gone=False) == {Survey(tree)}


def test_word_from_hooks(sample: Sample) -> None:
    assert change(sample, touched(sample.project.spool_dir / "post-commit")) == {Collect()}


def test_anything_in_a_folder_may_have_changed(sample: Sample) -> None:
    found = watched(sample)
    assert found[sample.flat / "sessions"].all == {Reconcile(flat(sample)), Survey(flat(sample).tree)}
    assert found[sample.pm_nested.folder].all == {Look(nested(sample), PM_NESTED)}
    assert found[sample.root / ".git"].all == {Moved(nested(sample).tree), Survey(nested(sample).tree)}
    assert found[sample.root / ".dagent-worktrees"].all == {Survey()}
    assert all(place.all for place in found.values())


def test_a_checkout_has_few_watches_however_much_is_imported(sample: Sample) -> None:
    tree = flat(sample).tree
    imported = [touched(tree.worktree / f"docs{n}" / "rules.md") for n in range(50)]
    outside = [
        path for path in watch_plan.of_tree(tree, sample.root / ".git", imported) if tree.path not in path.parents
    ]
    assert len([path for path in outside if path != tree.path]) <= 8
