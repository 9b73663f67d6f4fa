"""Contexts follow whatever one does with git, in every kind of repository, under the real daemon."""

from __future__ import annotations

import json
import os
import resource
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import FEATURE, SampleProject, git
from tests.e2e.daemon import Daemon, until
from tests.e2e.test_watching import Heard, commit, rest

PM = f"pm-feature-{FEATURE}"


class Fresh:
    """One worktree with a session, served."""

    def __init__(self, daemon: Daemon, worktree: Path) -> None:
        self.daemon, self.worktree = daemon, worktree
        self.path = worktree / ".dagent" / "sessions" / f"context_{PM}.json"

    @property
    def context(self) -> dict[str, Any]:
        found = json.loads(self.path.read_text())
        assert isinstance(found, dict)
        return found

    def becomes(self, **fields: Any) -> dict[str, Any]:
        """The context once its fields are so; the test fails if they never are."""

        def there() -> dict[str, Any] | None:
            found = self.context if self.path.exists() else {}
            return found if {key: found.get(key) for key in fields} == fields else None

        try:
            found = until(there, f"a context with {fields}")
        except AssertionError:
            assert (self.context if self.path.exists() else None) == fields  # to see what it was instead
            raise
        assert isinstance(found, dict)
        return found

    def follows(self) -> dict[str, Any]:
        """The context once it is of HEAD."""
        head = git(self.worktree, "rev-parse", "HEAD")
        branch = git(self.worktree, "branch", "--show-current") or None
        commits = git(self.worktree, "log", "--first-parent", "-10", "--format=%h - %s", "--abbrev=7").splitlines()
        return self.becomes(gitCommit=head, gitBranch=branch, recentCommits=commits)


def serve(daemon: Daemon, root: Path, worktree: Path) -> Fresh:
    """A worktree with a feature and a session, as an app made them."""
    sessions = worktree / ".dagent" / "sessions"
    sessions.mkdir(parents=True, exist_ok=True)
    (worktree / ".dagent" / "feature.json").write_text(json.dumps({"id": FEATURE, "name": "Login"}))
    (sessions / f"session_{PM}.json").write_text(json.dumps({"id": PM, "type": "feature", "featureId": FEATURE}))
    daemon.run(root)
    return Fresh(daemon, worktree)


@pytest.fixture
def fresh(daemon: Daemon, project: SampleProject) -> Fresh:
    made = serve(daemon, project.root, project.worktree)
    made.follows()
    return made


# --- what one does ------------------------------------------------------------------------------------------------


def amend(worktree: Path) -> None:
    git(worktree, "commit", "-q", "--amend", "--allow-empty", "-m", "Amended")


def merge(worktree: Path) -> None:
    git(worktree, "checkout", "-q", "-b", "side")
    commit(worktree, "On the side")
    git(worktree, "checkout", "-q", f"feature/{FEATURE}")
    commit(worktree, "Meanwhile")
    git(worktree, "merge", "-q", "--no-ff", "-m", "Merge side", "side")


def check_out(worktree: Path) -> None:
    git(worktree, "checkout", "-q", "-b", "other/branch-ü")
    commit(worktree, "On another branch")


def detach(worktree: Path) -> None:
    commit(worktree, "To be left")
    git(worktree, "checkout", "-q", "--detach", "HEAD~1")


def rename_branch(worktree: Path) -> None:
    git(worktree, "branch", "-m", "renamed")


def reset_hard(worktree: Path) -> None:
    commit(worktree, "Thrown away")
    git(worktree, "reset", "-q", "--hard", "HEAD~1")
    commit(worktree, "Kept")


def rebase(worktree: Path) -> None:
    main = worktree.parents[1]
    commit(main, "Main goes on")
    commit(worktree, "To be moved")
    git(worktree, "rebase", "-q", "--keep-empty", "main")


def pick(worktree: Path) -> None:
    main = worktree.parents[1]
    (main / "picked.txt").write_text("x")
    git(main, "add", "picked.txt")
    picked = commit(main, "Picked")
    git(worktree, "cherry-pick", picked)


def commit_one(worktree: Path) -> None:
    commit(worktree, "One")


@pytest.mark.parametrize("act", [commit_one, amend, merge, check_out, detach, rename_branch, reset_hard, rebase, pick])
def test_the_context_follows(fresh: Fresh, act: Callable[[Path], object]) -> None:
    act(fresh.worktree)
    assert "notes" not in fresh.follows()


def test_a_commit_in_one_worktree_rewrites_nothing_in_another(fresh: Fresh, project: SampleProject) -> None:
    other = project.root / ".dagent-worktrees" / "other"
    git(project.root, "worktree", "add", "-q", "-b", "other", str(other))
    left_out = shutil.ignore_patterns("history*", "context*")
    shutil.copytree(fresh.worktree / ".dagent", other / ".dagent", ignore=left_out)
    theirs = Fresh(fresh.daemon, other)
    theirs.follows()
    rest(fresh.daemon)
    before = os.stat(theirs.path)
    commit(fresh.worktree, "Ours")
    fresh.follows()
    rest(fresh.daemon)
    after = os.stat(theirs.path)
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_each_change_is_written_once(fresh: Fresh) -> None:
    """One outside change, one rebuild; one that changes nothing, none."""
    heard = Heard(fresh.daemon, "session:updated")
    rest(fresh.daemon)
    for act, number in (
        (lambda: commit(fresh.worktree, "One"), 1),
        (lambda: (fresh.worktree / "CLAUDE.md").write_text("- Be brief.\n"), 2),
        (lambda: (fresh.worktree / "CLAUDE.md").write_text("- Be brief.\n"), 2),  # the same again
        (lambda: (fresh.worktree / ".dagent" / "spec.md").write_text("# What\n"), 3),
        (lambda: git(fresh.worktree, "commit", "-q", "--amend", "--no-edit", "--allow-empty", "--reset-author"), 4),
        (lambda: git(fresh.worktree, "status"), 4),
        (lambda: git(fresh.worktree, "add", "CLAUDE.md"), 4),
    ):
        act()
        if number > len([each for each in heard() if each["action"] == "context"]):
            until(lambda: len([e for e in heard() if e["action"] == "context"]) == number, f"rebuild {number}")  # noqa: B023
        rest(fresh.daemon)
        assert len([each for each in heard() if each["action"] == "context"]) == number


@pytest.mark.parametrize(
    ("name", "field"),
    [("CLAUDE.md", "claudeMd"), (".claude/CLAUDE.md", "claudeMd"), ("CLAUDE.local.md", "claudeMd"),
     ("AGENTS.md", "agentsMd"), ("PROJECT.md", "projectMd"), (".dagent/spec.md", "spec"),
     (".dagent/feature-spec.md", "spec")],
)  # fmt: skip
def test_rules_and_specifications_are_followed_as_they_come_change_and_go(fresh: Fresh, name: str, field: str) -> None:
    path = fresh.worktree / name
    path.parent.mkdir(exist_ok=True)
    before = fresh.context.get(field)
    path.write_text("- First.\n")
    fresh.becomes(**{field: "- First."})
    path.write_text("- Second.\n")
    fresh.becomes(**{field: "- Second."})
    path.unlink()
    fresh.becomes(**{field: before})


def says(fresh: Fresh, field: str, text: str) -> None:
    until(lambda: text in json.dumps(fresh.context.get(field)), f"{field} with {text}")


@pytest.mark.parametrize("name", ["docs/deep/style.md", "style.md", ".claude/style.txt", ".dagent/style.md"])
def test_what_claude_md_imports_is_followed(fresh: Fresh, name: str) -> None:
    style = fresh.worktree / name
    style.parent.mkdir(parents=True, exist_ok=True)
    style.write_text("- Old.\n")
    (fresh.worktree / "CLAUDE.md").write_text(f"@{name}\n")
    says(fresh, "claudeMd", "- Old.")
    rest(fresh.daemon)
    style.write_text("- New.\n")
    says(fresh, "claudeMd", "- New.")


@pytest.mark.parametrize("name", ["docs/deep/style.md", "style.txt", ".claude/style.md"])
def test_what_claude_md_imports_may_come_later(fresh: Fresh, name: str) -> None:
    (fresh.worktree / "CLAUDE.md").write_text(f"First of all @{name}.\n")
    says(fresh, "claudeMd", "First of all")
    rest(fresh.daemon)
    for folder in reversed((fresh.worktree / name).relative_to(fresh.worktree).parents[:-1]):
        (fresh.worktree / folder).mkdir()
        rest(fresh.daemon)
    (fresh.worktree / name).write_text("- New.\n")
    says(fresh, "claudeMd", "- New.")


def test_links_on_the_way_to_an_import_are_followed(fresh: Fresh) -> None:
    for name in ("one", "two"):
        (fresh.worktree / name).mkdir()
        (fresh.worktree / name / "style.md").write_text(f"- {name}.\n")
    (fresh.worktree / "docs").symlink_to("one")
    (fresh.worktree / "CLAUDE.md").write_text("@docs/style.md\n")
    says(fresh, "claudeMd", "- one.")
    rest(fresh.daemon)
    (fresh.worktree / "new").symlink_to("two")
    (fresh.worktree / "new").rename(fresh.worktree / "docs")
    says(fresh, "claudeMd", "- two.")


def test_a_spec_that_is_a_link_is_followed(fresh: Fresh) -> None:
    spec = fresh.worktree / "docs" / "spec.md"
    spec.parent.mkdir()
    spec.write_text("Old\n")
    (fresh.worktree / ".dagent" / "spec.md").symlink_to("../docs/spec.md")
    fresh.becomes(spec="Old")
    rest(fresh.daemon)
    spec.write_text("New\n")
    fresh.becomes(spec="New")


def test_features_of_one_tree_that_are_made_from_different_files(daemon: Daemon, project: SampleProject) -> None:
    """Each of them has the folder of its own files watched, and they come to rest."""
    for name in ("one", "two"):
        (project.worktree / name).mkdir()
        (project.worktree / name / "a.txt").write_text(f"{name} is old")
        feature = project.dagent / "features" / name
        (feature / "sessions" / name).mkdir(parents=True)
        (feature / "feature.json").write_text(json.dumps({"id": name, "attachments": [f"{name}/a.txt"]}))
        (feature / "sessions" / name / "session.json").write_text(json.dumps({"id": name}))
    daemon.run(project.root)
    for name in ("one", "two"):
        path = project.dagent / "features" / name / "sessions" / name / "context.json"
        until(lambda: path.exists() and f"{name} is old" in path.read_text(), "the context")  # noqa: B023
        rest(daemon)
        (project.worktree / name / "a.txt").write_text(f"{name} is new")
        until(lambda: f"{name} is new" in path.read_text(), "the change")  # noqa: B023
    rest(daemon)


def test_feature_and_tasks_are_followed(fresh: Fresh) -> None:
    dag = fresh.worktree / ".dagent" / "dag.json"
    dag.write_text(json.dumps({"nodes": [{"id": "a", "status": "done"}, {"id": "b", "status": "in_dev"}]}))
    fresh.becomes(dagSummary="2 tasks: 1 complete, 1 in progress, 0 pending")
    (fresh.worktree / ".dagent" / "feature.json").write_text(json.dumps({"id": FEATURE, "name": "Sign-in"}))
    fresh.becomes(featureName="Sign-in")


def test_a_new_session_has_its_context_soon(fresh: Fresh, project: SampleProject) -> None:
    whose = {"type": "task", "agentType": "qa", "featureId": FEATURE, "taskId": "t1", "taskState": "in_qa"}
    made = fresh.daemon.call("session.getOrCreate", project=str(project.root), **whose)
    until(lambda: fresh.daemon.call("session.getContext", sessionId=made["id"]), "the context")
    assert fresh.daemon.call("session.getContext", sessionId=made["id"])["taskId"] == "t1"


# --- whoever asks right after a change ------------------------------------------------------------------------------


def write_rules(worktree: Path, word: str) -> None:
    (worktree / "CLAUDE.md").write_text(f"- {word}\n")


def write_graph(worktree: Path, word: str) -> None:
    nodes = [{"id": "t1", "title": word, "description": word, "status": "in_dev"}]
    (worktree / ".dagent" / "dag.json").write_text(json.dumps({"nodes": nodes, "connections": []}))


@pytest.mark.parametrize("watches", [True, False], ids=["watched", "unwatched"])
def test_a_request_right_after_a_change_is_not_stale(daemon: Daemon, project: SampleProject, watches: bool) -> None:
    """Before anything can have been heard of it, and where nobody listens at all."""
    daemon.configure(f"[watch]\nenabled = {str(watches).lower()}\n")
    fresh = serve(daemon, project.root, project.worktree)
    where = {"project": str(project.root), "type": "task", "featureId": FEATURE, "taskId": "t1", "taskState": "in_dev"}
    dev = daemon.call("session.getOrCreate", agentType="dev", **where)["id"]
    daemon.call("session.rebuildContext", sessionId=dev)
    stale = []
    for turn in range(2):
        for change in (write_rules, write_graph, commit):
            for method, more in (("buildRequest", {"userMessage": "Go"}), ("getContext", {})):
                word = f"{change.__name__}-{method}-{turn}"
                change(fresh.worktree, word)
                if word not in json.dumps(daemon.call(f"session.{method}", sessionId=dev, **more)):
                    stale.append(word)
    assert stale == []


# --- kinds of repositories ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["with spaces", 'it\'s "quoted"', "two\nlines", "naïve-日本", "-dash", "$HOME;ls"])
def test_paths_of_all_sorts(daemon: Daemon, project: SampleProject, tmp_path: Path, name: str) -> None:
    odd = tmp_path / name
    git(tmp_path, "clone", "-q", str(project.root), f"./{name}")
    worktree = odd / ".dagent-worktrees" / name
    git(odd, "worktree", "add", "-q", "-b", "feature", str(worktree))
    fresh = serve(daemon, odd, worktree)
    fresh.follows()
    commit(worktree, "There")
    fresh.follows()


def unborn(root: Path, worktree: Path) -> None:
    git(root, "worktree", "add", "-q", "--detach", str(worktree))
    git(worktree, "checkout", "-q", "--orphan", "empty")
    git(worktree, "rm", "-q", "-r", "-f", "--cached", ".")


def split_index(root: Path, worktree: Path) -> None:
    git(root, "worktree", "add", "-q", "-b", "feature", str(worktree))
    git(worktree, "update-index", "--split-index")


def sparse_index(root: Path, worktree: Path) -> None:
    git(root, "worktree", "add", "-q", "-b", "feature", str(worktree))
    git(worktree, "sparse-checkout", "set", "--cone", "--sparse-index", "docs")


def no_reflog(root: Path, worktree: Path) -> None:
    git(root, "config", "core.logAllRefUpdates", "false")
    git(root, "worktree", "add", "-q", "-b", "feature", str(worktree))


@pytest.mark.parametrize("make", [split_index, sparse_index, no_reflog])
def test_kinds_of_worktrees(daemon: Daemon, repo: Path, make: Callable[[Path, Path], None]) -> None:
    worktree = repo / ".dagent-worktrees" / "w"
    make(repo, worktree)
    fresh = serve(daemon, repo, worktree)
    fresh.follows()
    commit(worktree, "There")
    assert "notes" not in fresh.follows()


def test_a_branch_without_commits(daemon: Daemon, repo: Path) -> None:
    worktree = repo / ".dagent-worktrees" / "w"
    unborn(repo, worktree)
    fresh = serve(daemon, repo, worktree)
    found = fresh.becomes(gitBranch="empty", recentCommits=[])
    assert found.get("gitCommit") is None and any("no commits" in note for note in found["notes"])
    commit(worktree, "First")
    assert "notes" not in fresh.follows()


def test_a_repository_with_sha_256(daemon: Daemon, tmp_path: Path) -> None:
    root, worktree = tmp_path / "repo", tmp_path / "repo" / ".dagent-worktrees" / "w"
    git(tmp_path, "init", "-q", "--object-format=sha256", "repo")
    commit(root, "Start")
    git(root, "worktree", "add", "-q", "-b", "feature", str(worktree))
    fresh = serve(daemon, root, worktree)
    fresh.follows()
    commit(worktree, "There")
    assert len(fresh.follows()["gitCommit"]) == 64


def test_a_shallow_clone(daemon: Daemon, repo: Path, tmp_path: Path) -> None:
    commit(repo, "Second")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{repo}", str(clone))
    worktree = clone / ".dagent-worktrees" / "w"
    git(clone, "worktree", "add", "-q", "-b", "feature", str(worktree))
    fresh = serve(daemon, clone, worktree)
    found = fresh.becomes(gitBranch="feature")
    assert len(found["recentCommits"]) == 1 and any("shallow" in note for note in found["notes"])


def test_a_bare_repository_with_worktrees(daemon: Daemon, repo: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "-q", "--bare", str(repo), str(bare))
    worktree = bare / ".dagent-worktrees" / "w"
    git(bare, "worktree", "add", "-q", "-b", "feature", str(worktree))
    fresh = serve(daemon, bare, worktree)
    fresh.follows()
    commit(worktree, "There")
    fresh.follows()


def test_a_submodule(daemon: Daemon, repo: Path, tmp_path: Path) -> None:
    """A submodule is a repository of its own, with its git folder in that of the one around it."""
    outer = tmp_path / "outer"
    git(tmp_path, "init", "-q", str(outer))
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(repo), "inner")
    inner = outer / "inner"
    worktree = inner / ".dagent-worktrees" / "w"
    git(inner, "worktree", "add", "-q", "-b", "feature", str(worktree))
    fresh = serve(daemon, inner, worktree)
    fresh.follows()
    commit(worktree, "There")
    fresh.follows()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files to another user")
def test_a_repository_of_another_user_says_why_and_what_to_type(daemon: Daemon, project: SampleProject) -> None:
    for folder in (project.root, project.worktree):
        for path in (folder, *folder.rglob("*")):
            os.chown(path, 12345, 12345, follow_symlinks=False)
    fresh = serve(daemon, project.root, project.worktree)
    until(fresh.path.exists, "the context")
    notes = fresh.context["notes"]
    assert any("safe.directory" in note for note in notes), notes


def test_a_context_that_has_no_room_on_the_disk_is_grave(daemon: Daemon, project: SampleProject) -> None:
    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    daemon.command("run", str(project.root), preexec_fn=little_room)
    until(daemon.answers, "the start")
    where = {"project": str(project.root), "type": "feature", "agentType": "pm", "featureId": FEATURE}
    daemon.call("session.getOrCreate", **where)
    (project.worktree / "CLAUDE.md").write_text("- More.\n" * 3000)
    until(lambda: daemon.status["health"] == "degraded", "the trouble")
    (project.worktree / "CLAUDE.md").write_text("- Less.\n")
    Fresh(daemon, project.worktree).becomes(claudeMd="- Less.")
    until(lambda: daemon.status["health"] == "ok", "the end of it")


# --- what is gone and comes back ------------------------------------------------------------------------------------


def test_a_feature_that_gets_another_id(fresh: Fresh) -> None:
    path = fresh.worktree / ".dagent" / "feature.json"
    for turn in range(5):
        path.write_text(json.dumps({"id": f"feat-{turn}", "name": "Login"}))
        fresh.becomes(featureId=f"feat-{turn}")
        rest(fresh.daemon)
        assert fresh.context["featureId"] == f"feat-{turn}"


def test_git_folder_that_is_moved_away_for_a_moment(fresh: Fresh, project: SampleProject) -> None:
    (project.root / ".git").rename(project.root / "away")
    until(lambda: "gitCommit" not in fresh.context or not fresh.daemon.status["projects"], "the loss")
    rest(fresh.daemon)
    (project.root / "away").rename(project.root / ".git")
    until(lambda: fresh.daemon.status["projects"], "the project")
    rest(fresh.daemon)
    commit(project.worktree, "Two")
    fresh.follows()


def test_git_folder_of_a_worktree_that_is_made_again(fresh: Fresh, project: SampleProject) -> None:
    """As from a backup, after it was pruned."""
    own = Path(git(fresh.worktree, "rev-parse", "--absolute-git-dir"))
    own.parent.rename(project.root / "backup")
    rest(fresh.daemon)
    own.parent.mkdir()
    shutil.copytree(project.root / "backup" / own.name, own)
    rest(fresh.daemon)
    commit(fresh.worktree, "Two")
    fresh.follows()
