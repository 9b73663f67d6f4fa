"""The hook script itself: it leaves word from everywhere, starts nothing, prints nothing, and nothing stops git."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from dagentd.jobs.hooks import hook_text
from tests.conftest import git
from tests.patience import patience

SHELLS = [shell for shell in ("dash", "bash", "busybox", "mksh", "ksh93", "zsh") if shutil.which(shell)]
Limit = Callable[[], None]
NOBODY = 54321  # a user that has no process


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest) -> list[str]:
    path = shutil.which(request.param)
    assert path is not None
    return [path, "sh"] if request.param == "busybox" else [path]


@pytest.fixture
def spool(repo: Path) -> Path:
    folder = repo / ".git" / "dagentd" / "spool"
    folder.mkdir(parents=True)
    return folder


def script(more: str = "") -> str:
    return hook_text.script("post-commit").decode() + more


def run(
    shell: list[str], cwd: Path, *options: str, more: str = "", limit: Limit | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """With an environment of these variables alone: no PATH, no HOME. A hook that waits fails by the time limit."""
    command = [*shell, *options, "-c", script(more), "hook", "one", "two words"]
    user = NOBODY if limit is not None and os.getuid() == 0 else None
    return subprocess.run(
        command, cwd=cwd, env=variables, input="in", text=True, capture_output=True, timeout=patience(),
        preexec_fn=limit, user=user, extra_groups=None if user is None else [],
    )  # fmt: skip


def quiet(done: subprocess.CompletedProcess[str]) -> bool:
    return (done.returncode, done.stdout, done.stderr) == (0, "", "")


def give_away(folder: Path) -> None:
    """To the user that `run` becomes when there is a limit: root has no limits."""
    if os.getuid() == 0:
        for path in [folder, *folder.rglob("*")]:
            os.chown(path, NOBODY, NOBODY)


def test_it_leaves_a_file_and_the_script_after_it_as_it_was(shell: list[str], repo: Path, spool: Path) -> None:
    """Exit status, arguments, standard input, variables, options."""
    more = 'IFS= read -r x || :\necho "$? $# $2 $x ${_dagentd_dir-}${_dagentd_note-}"\ncase $- in *e*) exit 5; esac'
    for options in ([], ["-e"], ["-u"], ["-C"], ["-eu"]):
        done = run(shell, repo, *options, more=more)
        assert (done.stdout, done.stderr) == ("0 2 two words in \n", "")
        assert done.returncode == (5 if "e" in "".join(options) else 0)
    assert [path.name for path in spool.iterdir()] == ["post-commit"]
    assert (spool / "post-commit").read_text() == "post-commit\n"


@pytest.mark.parametrize("name", [name for name in SHELLS if name in ("dash", "bash")])
def test_tracing_does_not_show_it(name: str, repo: Path, spool: Path) -> None:
    assert "_dagentd_note" not in run([str(shutil.which(name))], repo, "-x").stderr


def no_processes() -> None:
    """From here on none can be started, and that is so."""
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    try:
        child = os.fork()
    except BlockingIOError:
        return
    if child == 0:
        os._exit(0)
    raise AssertionError("a process could be started")


def test_it_starts_no_process(shell: list[str], repo: Path, spool: Path) -> None:
    """Where none can be started it does its work all the same."""
    give_away(repo)
    (repo / ".git" / "worktrees" / "tree").mkdir(parents=True)
    (repo / ".git" / "worktrees" / "tree" / "commondir").write_text("../..\n")
    (repo / "pointer").write_text("gitdir: .git/worktrees/tree\n")
    assert quiet(run(shell, repo, limit=no_processes))
    assert quiet(run(shell, repo, limit=no_processes, GIT_DIR="pointer"))
    assert sorted(path.name for path in spool.iterdir()) == ["post-commit", "post-commit.tree"]


def full_disk() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def test_it_is_silent_where_nothing_can_be_written(shell: list[str], repo: Path, spool: Path) -> None:
    give_away(repo)
    assert quiet(run(shell, repo, "-e", limit=full_disk))
    (spool / "post-commit").unlink()
    spool.chmod(0o500)
    assert quiet(run(shell, repo, "-e", limit=lambda: None))
    assert list(spool.iterdir()) == []
    spool.chmod(0o700)


@pytest.mark.parametrize("in_the_way", ["fifo", "link", "link to nowhere", "folder", "device"])
def test_it_neither_waits_for_nor_follows_what_is_in_its_place(
    shell: list[str], repo: Path, spool: Path, tmp_path: Path, in_the_way: str
) -> None:
    note, other = spool / "post-commit", tmp_path / "other"
    other.write_text("theirs")
    if in_the_way == "fifo":
        os.mkfifo(note)
    elif in_the_way == "folder":
        note.mkdir()
    else:
        targets = {"link": other, "link to nowhere": tmp_path / "nowhere", "device": Path("/dev/tty")}
        note.symlink_to(targets[in_the_way])
    assert quiet(run(shell, repo, "-e"))
    assert other.read_text() == "theirs"
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("git_dir", ["", "/nowhere", "/dev/null", "README.md", ".git/HEAD", "/", "."])
def test_odd_places_are_no_error(shell: list[str], repo: Path, git_dir: str) -> None:
    assert quiet(run(shell, repo, "-eu", GIT_DIR=git_dir)), "nor is a missing spool"
    assert not (repo / ".git" / "dagentd").exists()


def test_a_note_that_is_there_is_not_written_again(shell: list[str], repo: Path, spool: Path) -> None:
    assert quiet(run(shell, repo))
    before = (spool / "post-commit").stat()
    assert quiet(run(shell, repo))
    assert (spool / "post-commit").stat() == before


def test_a_note_that_was_taken_is_written_to_again(shell: list[str], repo: Path, spool: Path) -> None:
    (spool / "post-commit").write_text("")
    assert quiet(run(shell, repo, "-C"))
    assert (spool / "post-commit").read_text() == "post-commit\n"


def test_a_probe_goes_to_a_name_of_its_own_and_ends_there(shell: list[str], repo: Path, spool: Path) -> None:
    assert quiet(run(shell, repo, more="echo theirs", DAGENTD_PROBE="token"))
    assert {path.name: path.read_text() for path in spool.iterdir()} == {"probe.post-commit": "token\n"}


# --- run by git -------------------------------------------------------------------------------------------------


def hook_everything(common: Path) -> Path:
    """The spool of a repository all of whose hooks are ours, written by hand."""
    for event in ("post-commit", "post-checkout", "post-merge", "post-rewrite"):
        path = common / "hooks" / event
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(hook_text.with_ours(None, event))
        path.chmod(0o755)
    (common / "dagentd" / "spool").mkdir(parents=True)
    return common / "dagentd" / "spool"


def taken(spool: Path) -> set[str]:
    names = set(os.listdir(spool))
    for name in names:
        (spool / name).unlink()
    return names


@pytest.mark.parametrize("name", ["plain", 'it\'s "a"', "line\nbreak\n", " in spaces ", "ünï-日本", "back\\slash$x"])
def test_every_event_from_paths_of_every_kind(tmp_path: Path, name: str) -> None:
    root, tree = tmp_path / name / "repo", tmp_path / name / f"tree {name}".strip("\n")
    root.mkdir(parents=True)
    git(root, "init", "-q")
    spool = hook_everything(root / ".git")
    git(root, "commit", "-q", "--allow-empty", "-m", "1")
    assert taken(spool) == {"post-commit"}
    git(root, "worktree", "add", "-q", "-b", "side", str(tree))
    [linked] = os.listdir(root / ".git" / "worktrees")
    assert taken(spool) == {f"post-checkout.{linked}"}
    git(tree, "commit", "-q", "--allow-empty", "-m", "2")
    assert taken(spool) == {f"post-commit.{linked}"}
    git(tree, "commit", "-q", "--amend", "--allow-empty", "-m", "3")
    assert taken(spool) == {f"post-commit.{linked}", f"post-rewrite.{linked}"}
    (root / "sub").mkdir()
    git(root / "sub", "merge", "-q", "side")
    assert taken(spool) == {"post-merge"}
    git(root, "checkout", "-q", "-b", "other")
    assert taken(spool) == {"post-checkout"}


def test_from_wherever_git_is_told_to_work(repo: Path, tmp_path: Path) -> None:
    spool = hook_everything(repo / ".git")
    (tmp_path / "odd").mkdir()
    for options in (
        ["--git-dir=repo/.git", "--work-tree=repo"],
        [f"--git-dir={repo}/.git", "--work-tree=odd"],
        ["-C", "repo", "-c", "core.quotePath=true"],
        ["-C", "repo/.git", f"--work-tree={repo}"],
    ):
        git(tmp_path, *options, "commit", "-q", "--allow-empty", "-m", "x")
        assert taken(spool) == {"post-commit"}, options


def test_a_separate_git_folder(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--separate-git-dir=elsewhere", "repo")
    spool = hook_everything(tmp_path / "elsewhere")
    git(tmp_path / "repo", "commit", "-q", "--allow-empty", "-m", "x")
    assert taken(spool) == {"post-commit"}


def test_a_rebase_of_100_commits_is_a_handful_of_files(repo: Path) -> None:
    git(repo, "checkout", "-q", "-b", "long")
    commit = "commit refs/heads/long\ncommitter T <t@e> 1 +0000\ndata 1\nx\n{}M 100644 inline f{}\ndata 1\nx\n"
    stream = "".join(commit.format("" if n else "from refs/heads/long^0\n", n) for n in range(100))
    subprocess.run(["git", "fast-import", "--quiet"], cwd=repo, input=stream, text=True, check=True)
    git(repo, "reset", "-q", "--hard")
    git(repo, "checkout", "-q", "main")
    git(repo, "commit", "-q", "--allow-empty", "-m", "other")
    git(repo, "checkout", "-q", "long")
    spool = hook_everything(repo / ".git")
    git(repo, "rebase", "-q", "main")
    assert git(repo, "rev-list", "--count", "main..long") == "100"
    assert taken(spool) == {"post-checkout", "post-commit", "post-rewrite"}


@pytest.mark.parametrize("linked", ["spool", "dagentd"])
def test_no_word_is_left_behind_a_link(shell: list[str], repo: Path, spool: Path, tmp_path: Path, linked: str) -> None:
    """Whoever can write in git's folder would have a file made wherever he likes."""
    folder = spool if linked == "spool" else spool.parent
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    assert quiet(run(shell, repo))
    assert [path for path in (tmp_path / "elsewhere").rglob("*") if path.is_file()] == []
