"""The shape of the program, checked in its source: who may import whom, who may print, who may write."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator

import pytest

from tests.imports import Module, cycle, edges, longest_chain, modules

# A module imports from lower ranks and from its own part, never upward or across.
RANKS = {
    "dagentd": 0,
    "errors": 0,
    "socket_path": 0,
    "waiting": 0,
    "model": 1,
    "paths": 1,
    "settings": 4,  # one file of them is a project's, and opened with care
    "formats": 2,
    "vocabulary": 2,
    "worker": 2,  # knows no job: it runs what it is given
    "events": 2,  # knows no source and no subscriber: it hands on what it is given
    "adapters": 3,
    "store": 4,
    "jobs": 5,
    "agx": 5,
    "agents": 6,  # their conversations are searched as sessions are
    "rpc": 7,
    "oneshot": 7,
    "doctor": 8,  # `serving.status` judges by its table
    "serving": 9,
    "daemon": 10,
    "web": 11,
    "mcp": 11,
    "cli": 12,
    "__main__": 13,
}

# Each outside library has one module that knows it, here.
HOMES = {
    "watchdog": "dagentd.adapters.",
    "pygit2": "dagentd.adapters.",
    "anthropic": "dagentd.adapters.",
    "tiktoken": "dagentd.adapters.",
    "daemon": "dagentd.adapters.",
    "sqlite3": "dagentd.store.journal.index",
    "zstandard": "dagentd.agents.",
    "uvicorn": "dagentd.web.server",
    "markdown_it": "dagentd.web.text",
}

CHAIN = 20  # modules that import each other in a row; 37 before the house was moved

DOOR = "dagentd.adapters.files.disk"
_WRITES = {
    "os": """rename renames replace link symlink unlink remove rmdir removedirs mkdir makedirs write pwrite writev
        fsync fdatasync truncate ftruncate chmod fchmod chown fchown mkfifo sendfile copy_file_range""",
    "shutil": "copy copy2 copyfile copyfileobj copytree move rmtree",
}
_PATH_WRITES = ("write_text", "write_bytes", "unlink", "rename", "mkdir", "rmdir", "touch", "hardlink_to", "symlink_to")

# No worker comes here: the daemon takes a project's lock or leaves it, and spends money in threads of their own.
SLEEPERS = ("dagentd.waiting", "dagentd.store.writer_lock", "dagentd.store.ledger")

Check = Callable[[list[Module]], list[str]]


def upward_imports(every: list[Module]) -> list[str]:
    parts = {module.name: module.part for module in every}
    return [
        f"{name} imports {target}"
        for name, targets in edges(every).items()
        for target in sorted(targets)
        if parts[name] != parts[target] and RANKS[parts[name]] <= RANKS[parts[target]]
    ]


def import_cycles(every: list[Module]) -> list[str]:
    return [" → ".join(found)] if (found := cycle(edges(every))) else []


def long_chains(every: list[Module]) -> list[str]:
    graph = edges(every)
    found = [] if cycle(graph) else longest_chain(graph)
    return [" → ".join(found)] if len(found) > CHAIN else []


def imports_that_lock_each_other(every: list[Module]) -> list[str]:
    """In a function, of a part of a package that the package itself imports, or that imports such a part. A thread that
    loads the part holds it and wants the package, one that loads the package holds that and wants the part: for one of
    them it is an error."""
    imported = edges(every)
    return [
        f"{module.name}:{node.lineno} imports {node.module}: import it from {package}"
        for module in every
        for function in module.nodes
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.ImportFrom) and (package := str(node.module).rpartition(".")[0]) in imported
        if {str(node.module), *_within(package, imported.get(str(node.module), ()))} & set(imported[package])
        if not f"{module.name}.".startswith((f"{package}.", "dagentd.cli."))  # a command has one thread
    ]


def _within(package: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(f"{package}.")]


def scattered_libraries(every: list[Module]) -> list[str]:
    complaints = []
    for library, home in HOMES.items():
        importers = [m.name for m in every if any(name.split(".")[0] == library for name in m.imported)]
        if len(importers) > 1 or any(not name.startswith(home) for name in importers):
            complaints.append(f"{library} is imported by {', '.join(importers)}; it belongs in one of {home}")
    return complaints


def missing_sentences(every: list[Module]) -> list[str]:
    first = {module.name: (ast.get_docstring(module.tree) or "").split("\n\n")[0] for module in every}
    return [name for name, text in first.items() if not re.fullmatch(r"\S.*\s.*\.", text, re.DOTALL)]


def roundabout_docstrings(every: list[Module]) -> list[str]:
    """A reader looks for the verb or the noun: `What is left` is harder to find than `The rest`."""
    return [
        f"{module.name}:{node.lineno} begins with What"
        for module in every
        for node in module.nodes
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)  # a field has its docstring behind it
        if str(node.value.value).startswith("What")
    ]


def empty_names(every: list[Module]) -> list[str]:
    return [m.name for m in every if re.search(r"\.(utils?|helpers?|common|misc)(\.|$)", m.name)]


def prints(every: list[Module]) -> list[str]:
    return [
        f"{module.name}:{call.lineno} prints"
        for module in every
        if module.part != "cli"
        for call, name in module.calls
        if name in ("print", "sys.stdout.write", "sys.stderr.write")
    ]


def sleeps(every: list[Module]) -> list[str]:
    """A worker has others to serve: whoever must wait asks `waiting.pause`, which knows who may sleep."""
    return [
        f"{module.name}:{call.lineno} sleeps"
        for module in every
        if module.part != "cli" and module.name not in SLEEPERS
        for call, name in module.calls
        if name in ("time.sleep", "sleep")
    ]


def writes_beside_the_door(every: list[Module]) -> list[str]:
    return [found for module in every if module.name != DOOR for found in _writing(module)]


def _writing(module: Module) -> Iterator[str]:
    imported = set(module.imported)
    for call, name in module.calls:
        if _writes(call, name, imported):
            yield f"{module.name}:{call.lineno} writes: {ast.unparse(call)}"


def opens_beside_the_door(every: list[Module]) -> list[str]:
    """What lies in a worktree is reached through `beneath`, or a link that is put there meanwhile is followed."""
    return [
        f"{module.name}:{call.lineno} opens: {ast.unparse(call)}"
        for module in every
        if module.name.startswith(("dagentd.store.", "dagentd.jobs.context.")) and ".agx." not in module.name
        for call, name in module.calls
        if re.fullmatch(r"open|os\.(open|listdir|scandir|walk)|.*\.(iterdir|read_bytes|read_text|glob|rglob)", name)
    ]


def _writes(call: ast.Call, called: str, imported: set[str]) -> bool:
    holder, _, name = called.rpartition(".")
    for library, names in _WRITES.items():
        if name in names.split() and (holder == library or (not holder and f"{library}.{name}" in imported)):
            return True
    if name in ("open", "fdopen"):
        return bool(set(_mode(call, holder)) & set("wax+"))
    return holder != "" and name in _PATH_WRITES


def _mode(call: ast.Call, holder: str) -> str:
    """The mode given to open(file, mode), to io.open, to os.fdopen or to Path.open(mode); os.open has none."""
    position = 1 if holder in ("", "io", "os") else 0
    given = [keyword.value for keyword in call.keywords if keyword.arg == "mode"] or call.args[position : position + 1]
    return given[0].value if given and isinstance(given[0], ast.Constant) and isinstance(given[0].value, str) else ""


BAD: list[tuple[Check, dict[str, str]]] = [
    (upward_imports, {"dagentd.store.x": "def f():\n from dagentd.cli import output", "dagentd.cli.output": ""}),
    (upward_imports, {"dagentd.model.x": "import dagentd.paths", "dagentd.paths": ""}),
    (import_cycles, {"dagentd.a": "from dagentd import b", "dagentd.b": "def f():\n import dagentd.a"}),
    (long_chains, {f"dagentd.a{n}": f"from dagentd import a{n + 1}" for n in range(CHAIN + 1)}),
    (
        imports_that_lock_each_other,
        {
            "dagentd.jobs.a": "from dagentd.jobs.a.b import C",
            "dagentd.jobs.a.b": "class C: ...",
            "dagentd.x": "def f():\n from dagentd.jobs.a.b import C",
        },
    ),
    (
        imports_that_lock_each_other,
        {
            "dagentd.jobs.a": "from dagentd.jobs.a.b import C",
            "dagentd.jobs.a.b": "class C: ...",
            "dagentd.jobs.a.c": "from dagentd.jobs.a.b import C",
            "dagentd.x": "def f():\n from dagentd.jobs.a.c import D",
        },
    ),
    (scattered_libraries, {"dagentd.adapters.a": "import pygit2", "dagentd.adapters.b": "from pygit2.enums import X"}),
    (scattered_libraries, {"dagentd.store.a": "import watchdog.events"}),
    (scattered_libraries, {"dagentd.store.sessions.session": "import sqlite3"}),
    (missing_sentences, {"dagentd.a": "import os"}),
    (missing_sentences, {"dagentd.a": '"""Stuff"""'}),
    (roundabout_docstrings, {"dagentd.a": '"""What is left."""'}),
    (roundabout_docstrings, {"dagentd.a": 'class A:\n def f():\n  """What is left."""'}),
    (roundabout_docstrings, {"dagentd.a": 'class A:\n rest: int\n """What is left."""'}),
    (empty_names, {"dagentd.store.utils": ""}),
    (empty_names, {"dagentd.helpers.text": ""}),
    (opens_beside_the_door, {"dagentd.store.a": "os.listdir(folder)"}),
    (opens_beside_the_door, {"dagentd.jobs.context.a": "(folder / 'a').read_text()"}),
    (sleeps, {"dagentd.store.a": "import time\ntime.sleep(1)"}),
    (prints, {"dagentd.store.a": "print('hello')"}),
    (prints, {"dagentd.jobs.a": "import sys\nsys.stdout.write('x')"}),
    *(
        (writes_beside_the_door, {"dagentd.store.a": source})
        for source in (
            "os.rename(a, b)",
            "os.replace(a, b)",
            "os.link(a, b)",
            "os.unlink(a)",
            "os.fsync(fd)",
            "os.fdatasync(fd)",
            "os.ftruncate(fd, 0)",
            "os.mkdir(a)",
            "os.write(fd, b'')",
            "from os import replace\nreplace(a, b)",
            "open(a, 'w')",
            "open(a, mode='ab')",
            "os.fdopen(fd, 'r+')",
            "path.open('x')",
            "path.write_text('')",
            "(folder / 'a').write_bytes(b'')",
            "path.parent.mkdir()",
            "import shutil\nshutil.rmtree(a)",
        )
    ),
]
CHECKS = list(dict.fromkeys(check for check, _ in BAD))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_dagentd_has_the_shape_it_says(check: Check) -> None:
    assert check(modules()) == []


@pytest.mark.parametrize(("check", "sources"), BAD)
def test_each_check_can_fail(check: Check, sources: dict[str, str]) -> None:
    assert check([Module(name, source) for name, source in sources.items()])


@pytest.mark.parametrize(
    "source",
    ["text.replace('a', 'b')", "open(a)", "path.open('rb')", "os.open(a, flags)", "dataclasses.replace(a, b=1)"],
)
def test_reading_is_no_writing(source: str) -> None:
    assert writes_beside_the_door([Module("dagentd.store.a", source)]) == []


def test_every_part_has_a_rank() -> None:
    assert {module.part for module in modules()} <= RANKS.keys()
