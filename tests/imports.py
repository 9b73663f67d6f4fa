"""What the architecture test reads: every module of dagentd with its syntax tree and what it imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "dagentd"


@dataclass(frozen=True)
class Module:
    name: str
    source: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.source)

    @property
    def part(self) -> str:
        """`store` for dagentd.store.journal.journal; `dagentd` for the package itself."""
        return self.name.split(".")[1] if "." in self.name else self.name

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All of the tree: a walk costs more than what is asked of it."""
        return list(ast.walk(self.tree))

    @cached_property
    def imported(self) -> list[str]:
        """Dotted names; `from a import b` gives `a.b`, whether b is a module or something in one."""
        return list(self._imported())

    @cached_property
    def calls(self) -> list[tuple[ast.Call, str]]:
        """Each with the name of what it calls."""
        return [(node, ast.unparse(node.func)) for node in self.nodes if isinstance(node, ast.Call)]

    def _imported(self) -> Iterator[str]:
        for node in self.nodes:
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{self.name}: imports are absolute here"
                yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def modules() -> list[Module]:
    return [Module(_name(file), file.read_text()) for file in sorted(SOURCE.rglob("*.py"))]


def edges(every: list[Module]) -> dict[str, set[str]]:
    """Which modules of ours each module imports."""
    names = {module.name for module in every}
    return {module.name: {found for name in module.imported if (found := _ours(name, names))} for module in every}


def cycle(graph: dict[str, set[str]]) -> list[str]:
    """Some cycle of the graph; empty if there is none."""
    done: set[str] = set()

    def search(name: str, trail: list[str]) -> list[str]:
        if name in trail:
            return [*trail[trail.index(name) :], name]
        for target in sorted(graph.get(name, set()) - done):
            if found := search(target, [*trail, name]):
                return found
        done.add(name)
        return []

    return next((found for name in sorted(graph) if (found := search(name, []))), [])


def longest_chain(graph: dict[str, set[str]]) -> list[str]:
    """The modules that whoever understands the first one has to know, one behind the other; without cycles."""

    @cache
    def chain(name: str) -> tuple[str, ...]:
        behind: list[tuple[str, ...]] = [chain(each) for each in sorted(graph[name] - {name})]
        longest: tuple[str, ...] = max(behind, key=len) if behind else ()
        return name, *longest

    every: list[tuple[str, ...]] = [chain(name) for name in sorted(graph)]
    found: tuple[str, ...] = max(every, key=len)
    return list(found)


def _ours(name: str, names: set[str]) -> str | None:
    """The module that a dotted name is or is in."""
    return name if name in names else (parent if (parent := name.rpartition(".")[0]) in names else None)


def _name(file: Path) -> str:
    parts = file.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
