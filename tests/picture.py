"""The picture in README.md: what `dagentd demo` prints on a terminal; `python -m tests.picture` makes it anew."""

from __future__ import annotations

import io
import re
from pathlib import Path
from xml.etree import ElementTree

from rich.console import Console
from rich.text import Text

from tests.e2e.stage import stage
from tests.e2e.terminal import Terminal
from tests.e2e.transcript import scrub_text

PICTURE = Path(__file__).parent / "e2e" / "transcripts" / "demo.svg"
WIDTH = 84
_FONTS = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace"
_CHARACTER = 12.2  # how wide rich takes one to be
_LED = re.compile(
    r'x="(?P<x>[\d.]+)" (?P<y>y="[\d.]+") textLength="(?P<length>[\d.]+)"(?P<rest>[^>]*)>'
    r"(?P<blanks>(?:&#160;)+)(?P<first>(?!&#160;)[^<])"
)
_SVG = "{http://www.w3.org/2000/svg}"


def made() -> str:
    """As SVG that loads nothing from anywhere: rich's own links fonts of a web site."""
    console = Console(record=True, file=io.StringIO(), width=WIDTH, force_terminal=True, color_system="truecolor")
    console.print(Text.from_ansi(printed()), soft_wrap=True)
    drawn = console.export_svg(title="dagentd demo", unique_id="dagentd")
    without = re.sub(r"\s*@font-face \{.*?\}", "", drawn, flags=re.DOTALL)
    named = re.sub(r"font-family: Fira Code, monospace", f"font-family: {_FONTS}", without)
    return "".join(f"{line.rstrip()}\n" for line in _LED.sub(_moved, named).splitlines())


def _moved(text: re.Match[str]) -> str:
    """Blanks before a text are its place: some programs that show SVG leave them out."""
    by = text["blanks"].count("&#160;") * _CHARACTER
    x, length = float(text["x"]) + by, float(text["length"]) - by
    return f'x="{x:g}" {text["y"]} textLength="{length:g}"{text["rest"]}>{text["first"]}'


def printed() -> str:
    """Colours and all."""
    with stage("an empty home") as empty:
        terminal = Terminal(["dagentd", "demo"], empty.home, empty.env, columns=WIDTH)
        assert terminal.end() == 0, terminal.said
    return f"\x1b[1m$ dagentd demo\x1b[0m\n{terminal.said}".replace("\r\n", "\n")


def words(svg: str) -> list[str]:
    """What is to be read in it, line for line, without what differs from run to run."""
    lines: dict[str, str] = {}
    for text in ElementTree.fromstring(svg).iter(f"{_SVG}text"):
        line = text.get("clip-path", "title")
        column = round(float(text.get("x", 0)) / _CHARACTER)
        lines[line] = lines.get(line, "").ljust(column) + (text.text or "").replace("\xa0", " ")
    return [scrub_text(text).rstrip() for text in lines.values()]


if __name__ == "__main__":
    PICTURE.write_text(made(), encoding="utf-8")
