"""The wheel holds all that dagentd needs, and works where the source is not."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from dagentd import __version__
from tests.conftest import git

SOURCE = Path(__file__).parent.parent
INGREDIENTS = ("dagentd", "hooks", "plugins", "systemd", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md")


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Without what would show the source to it, and with pip's cache out of the real home."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"PIP_CACHE_DIR": str(cwd / "cache"), "PIP_RETRIES": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, so that neither build folders nor stray files of this tree get in the way."""
    copy = tmp_path_factory.mktemp("source")
    for name in INGREDIENTS:
        source = SOURCE / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, copy / name)
    done = run(sys.executable, "-m", "build", "--wheel", copy, "--outdir", copy / "dist", cwd=copy)
    if "No matching distribution found for hatchling" in done.stdout + done.stderr:
        pytest.skip("no package registry can be reached, and the build backend comes from there")
    assert done.returncode == 0, done.stdout + done.stderr
    return next((copy / "dist").glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of a virtualenv with the wheel. Its dependencies are those that are installed here
    already; a `.pth` shows them to it, behind its own packages. Only dagentd must not come from here."""
    folder = tmp_path_factory.mktemp("empty") / "venv"
    venv.create(folder, with_pip=True, symlinks=True)
    python = folder / "bin" / "python"
    done = run(python, "-m", "pip", "install", "--no-deps", "--no-index", wheel, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    packages = run(python, "-c", "import site; print(site.getsitepackages()[0])", cwd=folder).stdout.strip()
    here = [path for path in sys.path if path.endswith("site-packages")]
    Path(packages, "dependencies.pth").write_text("".join(f"{path}\n" for path in here))
    return folder / "bin"


def test_it_holds_the_program_and_the_vocabulary(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "dagentd/cli/__init__.py" in names
    assert "dagentd/vocabulary/cl100k_base.tiktoken" in names
    assert "dagentd/systemd/dagentd.service" in names
    assert "dagentd/hooks/leave-word.sh" in names
    assert {"dagentd/plugins/hook.sh", "dagentd/plugins/claude-code/dagentd/.mcp.json"} <= set(names)
    assert {f"dagentd/cli/completion/{name}" for name in ("words.json", "dagentd.bash", "dagentd.fish")} <= set(names)
    assert any(name.startswith("tiktoken_ext/") for name in names)
    assert not any(name.startswith("tests/") or "__pycache__" in name for name in names)
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_it_is_the_wheel_that_runs(installed: Path, tmp_path: Path) -> None:
    done = run(installed / "python", "-c", "import dagentd; print(dagentd.__file__)", cwd=tmp_path)
    assert done.stdout.startswith(str(installed.parent))


def test_the_command_runs(installed: Path, tmp_path: Path) -> None:
    done = run(installed / "dagentd", "--version", cwd=tmp_path)
    assert (done.stdout, done.stderr) == (f"dagentd {__version__}\n", "")
    done = run(installed / "dagentd", "config", "--json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["settings"]["budget"]["limit"] == 100_000


def test_units_come_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    code = "from dagentd.adapters import shipped; print(shipped.text('systemd', 'dagentd.service'))"
    done = run(installed / "python", "-c", code, cwd=tmp_path)
    assert (done.stderr, "[Service]" in done.stdout) == ("", True)


def test_plugins_come_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    code = "from dagentd.agents import plugins; plugins.copy(); print(plugins.wrong(), len(plugins.files()))"
    done = run(installed / "python", "-c", code, cwd=tmp_path)
    assert (done.stderr, done.stdout) == ("", "[] 11\n")


def test_hooks_come_from_the_wheel(installed: Path, repo: Path) -> None:
    done = run(installed / "dagentd", "hooks", "install", cwd=repo)
    assert (done.returncode, done.stderr) == (0, "")
    git(repo, "commit", "-q", "--allow-empty", "-m", "x")
    assert [path.name for path in (repo / ".git" / "dagentd" / "spool").iterdir()] == ["post-commit"]


def test_tokens_are_counted_from_the_wheel_without_the_network(installed: Path, tmp_path: Path) -> None:
    code = (
        "import socket; socket.socket.connect = socket.getaddrinfo = None;"
        "import tiktoken_ext.dagentd_vocabulary as plugin; from dagentd.adapters import tokens;"
        "print(plugin.__file__, tokens.count('hello world'))"
    )
    done = run(installed / "python", "-c", code, cwd=tmp_path)
    assert done.stderr == ""
    plugin, count = done.stdout.split()
    assert plugin.startswith(str(installed.parent))
    assert count == "2"
