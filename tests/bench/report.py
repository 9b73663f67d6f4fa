"""How measurements are printed: a figure, the limit beside it, the ratio, and whether the aim is met."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field


@dataclass
class Report:
    missed: list[str] = field(default_factory=list)

    def heading(self, text: str) -> None:
        self._put(f"\n{text}")

    def figure(self, name: str, value: str) -> None:
        """A number of this machine, judged by nobody."""
        self._put(f"  {name:<58} {value:>14}")

    def ratio(self, name: str, value: float, limit: float, aim: float, unit: str = "ms") -> None:
        """`value` may be at most `aim` times `limit`."""
        self._judge(name, f"{value:.3f} {unit}", f"{value / limit:.2f} x", f"<= {aim:g} x", value <= aim * limit)

    def at_least(self, name: str, value: float, aim: float, unit: str) -> None:
        self._judge(name, f"{value:.2f} {unit}", "", f">= {aim:g} {unit}", value >= aim)

    def at_most(self, name: str, value: float, aim: float, unit: str) -> None:
        self._judge(name, f"{value:.3g} {unit}", "", f"<= {aim:g} {unit}", value <= aim)

    def _judge(self, name: str, value: str, ratio: str, aim: str, met: bool) -> None:
        if not met:
            self.missed.append(name)
        self._put(f"  {name:<58} {value:>14} {ratio:>8}  {aim:<12} {'ok' if met else 'MISSED'}")

    def _put(self, text: str) -> None:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
