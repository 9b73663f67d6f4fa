"""The text that a user typed: their message without output, code, and what the program around it put in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
# A tag with a hyphen is a wrapper of the program, as in <system-reminder>; nobody types one. Others hold a paste.
_WRAPPED = re.compile(
    r"<([a-z]++(?:[-_][a-z]++)++|files?|documents?|details|source|output|stdout|stderr|log|tool|result|pre|code|blockquote)"
    r"\b[^<>]*>.*?(?:</\1>|\Z)",
    re.S,
)
_OUTPUT = "\nAnd got this output:\n"  # aider's words, behind a command that it ran
_NOTICE = re.compile(
    r"^[^\S\n]*+(?:\[(?:Request|Response|Tool use|Image|Pasted|Attached)\b[^\[\]]*\]|-{3,}|/[a-z-]+|Caveat: .*)"
    r"[^\S\n]*$",
    re.M,
)
FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1[^\n]*$|\Z)", re.M | re.S)
COMMAND = "<command-name>"  # of a slash command: what comes next is its own text, not the user's
_MACHINE = re.compile(
    r"""^\s*+(?:
      [$❯➜%>]\s|PS\s\S+>|[A-Z]:\\\S*>|>>>\s|\+{3}\s|-{3}\s|@@\s                        # prompts and diffs
    | \[?\d{4}-\d\d-\d\d[T\s]|\[?\d\d:\d\d:\d\d|\w{3}\s+\d+\s\d\d:\d\d                    # clocks
    | (?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)\s/\S*\W+(?:HTTP/|\d{3}\b)|\d{1,3}(?:\.\d{1,3}){3}\s-\s   # requests
    | \[?(?:debug|info|warn(?:ing)?|error|trace|fatal|notice)\]?\s*[:|\]]\s|[A-Z]+:\s{2,}\S   # levels of logs
    | (?:[A-Z]:)?[^\s:]+:\d+(?::\d+)?:\s+(?:\w*(?:error|warning)|note|[A-Z]{1,4}\d{2,4})\b   # compilers and linters
    | (?:error|warning)\[\w+\]:\s|-->\s|(?:\d+\s*+)?\|(?:\s|$)|(?<=\s\s)\w+ing\s\S+\sv?\d  # and what they show
    | at\s+\S+.*(?:[\w.]:\d+\)?\s*$|\(<anonymous>\))|File\s".+",\sline\s\d+(?:,\sin\b|\s*$)|Traceback
    | \w*(?:Error|Exception|Warning):\s                                                   # traces
    | npm\s(?:ERR!|WARN|notice|error)|E\s{2,}\S|test\s\S+\s\.{3}\s|test\sresult:|thread\s'.*panicked|running\s\d+\stest
    | (?-i:PASS|FAIL|FAILED|PASSED)\s+\S+[./:]|ok\s(?:\s+\S|\d+\s-)|={4,}|-{5,}|_{4,}
    | \d+\s(?:passed|failed|errors?|warnings?)(?:,\s\d|\s(?:in\s\d|found|generated)|\W*$)   # counts
    | (?:import|from\s\S+\simport|def|class|return|const|let|var|function|func|package|public|private|static
    |async\sdef|if|for|while|elif|else|try|except|with)\b(?:[^.?!]*[;{(]|(?:\s*\S*|(?=[^.?!]*?(?:[=()\[\]<>]|\sin\s))[^.?!]*):)\s*$
    | [\w.\[\]"'>-]+\s*(?:=|:=|\+=|=>)\s*\S|"?[\w.-]+"?\s*:\s*(?:["'][^"']*["'],?\s*$|[\[{]|\d+,?$|true|false|null)
    | [{}()\[\];]+,?\s*$|[\w.]+\(\s*$|</?[A-Za-z][^>]*>(?:.*[>}])?\s*$|\#!|//|/\*|\*\s@|\|.*\|\s*$|[│├└┌╭╰─━]|[✓✗✖●⎿⏺]
    )""",
    re.X | re.I,
)  # fmt: skip
_COLUMNS, _PAIRS = re.compile(r"\S\s{3,}(?=\S)"), re.compile(r"(?:^|\s)\w+=\S+\s\w+=\S+\s\w+=")
_LETTERS = re.compile(r"[^\W\d_]")
_END = re.compile(r"[.!?][\"')\]]*(?=\s)|[。！？]|\n")
BULLET = re.compile(r"\A\s*(?:[-*•]|\d{1,2}[.)])\s+")
_ABBREVIATED = (
    "e.g.", "i.e.", "etc.", "vs.", "cf.", "approx.", "incl.", "resp.", "esp.", "Mr.", "Dr.", "...", "bzw.", "z.B.",
    "ca.", "Nr.", "eig.", "evtl.", "ggf.", "bspw.", "inkl.", "usw.", "p. ej.", "p.ej.",
)  # fmt: skip
# Who speaks of themselves or to somebody; a long paragraph without it is a report that was pasted.
_SPEAKS = re.compile(
    r"\b(?:i|i'm|i'd|me|my|mine|we|us|our|you|your|please|let'?s|pls|plz|ich|mir|mich|wir|uns|du|dir|dein\w*|sie"
    r"|ihr|bitte|yo|mi|nosotros|tú|usted|por favor|quiero|je|j'ai|nous|vous|moi|mon|ma|merci|veux)\b"
    r"|[我你您请們们私僕君]|ください|下さい|して"
)
_NUMBERED = re.compile(r"\s*\d{1,2}\.")
_LONG = 240  # characters of a paragraph
_LONG_LINE = 4000  # characters: nobody types one in which output begins later


@dataclass(frozen=True)
class Typed:
    """`paragraphs` are the user's words; `pasted` is what they put in from elsewhere."""

    paragraphs: tuple[str, ...]
    pasted: str

    @property
    def text(self) -> str:
        return "\n".join(self.paragraphs)

    @property
    def spoken(self) -> tuple[tuple[str, bool], ...]:
        """Each with whether somebody speaks in it: long ones where nobody does are reports, pasted as prose."""
        speaks = {each: _SPEAKS.search(each.lower()) is not None for each in self.paragraphs}
        report = len(self.text) > 2 * _LONG and not any(speaks.values())
        return tuple((each, speaks[each] or (len(each) < _LONG and not report)) for each in self.paragraphs)


def typed(words: str) -> Typed:
    text = _CONTROL.sub("", words.replace("\r", ""))
    if "<" in text:
        text = _WRAPPED.sub("\n", text)
    text, _, output = text.partition(_OUTPUT)
    pasted = [*(match[0] for match in FENCE.finditer(text)), output]
    lines = _NOTICE.sub("", FENCE.sub("\n\n", text)).split("\n")
    kept: list[str] = []
    for line, machine in zip(lines, _machine(lines), strict=True):
        own, behind = _before_output(line) if not machine else ("", line)
        kept.append(own)
        pasted += [behind] if behind else []
    paragraphs = (" ".join(each.split()) for each in re.split(r"\n\s*\n|\n(?=\s*[-*•]\s)", "\n".join(kept)))
    said = tuple(each.lstrip("# ") for each in paragraphs if _LETTERS.search(each))
    return Typed(said, "\n".join(filter(None, pasted)))


def _before_output(line: str) -> tuple[str, str]:
    """A line that goes over into output behind a colon: "I get this: ERROR 12:30:01 …". One word is a program's."""
    colons = re.finditer(": ", line) if len(line) < _LONG_LINE else ()
    ends = (match.end() for match in colons if is_machine(line[match.end() :]))
    at = next(ends, len(line))
    return (line[:at].rstrip(), line[at:]) if at == len(line) or " " in line[:at].strip() else ("", line)


def is_machine(line: str) -> bool:
    """Whether no person types such a line: output, logs, code."""
    bare = line.rstrip()
    is_code = bare.endswith((";", "{")) or (line.startswith(("\t", "    ")) and not BULLET.match(bare))
    in_columns = "   " in bare and len(_COLUMNS.findall(bare)) > 1
    return bool(is_code or in_columns or _MACHINE.match(line) or (bare.count("=") > 2 and _PAIRS.search(bare)))


def _machine(lines: list[str]) -> list[bool]:
    """Which lines no person types; one between such lines is part of the paste."""
    found = [is_machine(line) for line in lines]
    for at, line in enumerate(lines):
        if not found[at] and line.strip():
            before, behind = found[max(0, at - 3) : at], found[at + 1 : at + 4]
            found[at] = any(before) and any(behind) and sum(before) + sum(behind) >= 4
    return found


def sentences(text: str) -> Iterator[str]:
    """In order, each on one line, bullets without their dash."""
    start = 0
    for match in _END.finditer(text):
        piece = text[start : match.end()]
        if not piece.endswith(_ABBREVIATED) and (len(piece) > 5 or not _NUMBERED.fullmatch(piece)):
            start = match.end()
            if flat := " ".join(piece.split()):
                yield BULLET.sub("", flat, 1) if flat[0] in "-*•0123456789" else flat
    if rest := " ".join(text[start:].split()):
        yield BULLET.sub("", rest, 1)


def trimmed(text: str, most: int) -> str:
    """At a sentence if one ends before `most`, else at a word; what is missing shows."""
    flat = " ".join(text.split())
    if len(flat) <= most:
        return flat
    cut = flat[: most - 2]
    ends = [match.end() for match in _END.finditer(flat[:most]) if match.end() <= len(cut)]
    if ends and ends[-1] >= most // 3:
        return f"{cut[: ends[-1]]} …"
    return f"{cut.rsplit(' ', 1)[0] if ' ' in cut[most // 2 :] else cut} …"
