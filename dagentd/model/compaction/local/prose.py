"""A message's own sentences: without code, quotations, logs and tagged blocks, which are data and state nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dagentd.model.compaction.local import pasted

LONGEST = 320  # characters of one statement; what is longer is cut at a word
_READ = 4 * LONGEST  # characters of a sentence that are looked at
_WHOLE = 60_000  # a longer message is something pasted: people write before and after it
_FENCE = re.compile(r"\s{0,8}(?:(?:[-*+•]|\d{1,3}[.)])\s+)?(```+|~~~+)")
_TAG = re.compile(r"\s*<([a-zA-Z][\w.:-]*)(?:\s[^<>]*)?>")
_HEADING = re.compile(r"\s*(?:#{1,6}\s|[^\w\s]{3,}\s*$)")
_END = re.compile(r"(?:(?<=[.!?…])[\"'”’)\]*_`]{0,3}\s+|(?<=[。！？])[」』”]?\s*)")
_NO_END = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|resp|incl|z\.B|d\.h|bzw|p\.ej|Mr|Mrs|Dr|St|No|Nr|Fig|ca|v)|\b[A-Z]|^\W*\d+)\.$"
)
# Given a new tenant / When the quota is read / Then it shows 70 seats
_GOES_ON = re.compile(r"(?:when|because|since|which|where) \w", re.IGNORECASE)
_SUPPOSED, _THEN = re.compile(r"\W*(?:given|when|if)\b", re.IGNORECASE), re.compile(r"then \w", re.IGNORECASE)
_SED = re.compile(r"(?<!\S)s/([^/\s]+)/([^/\s]+)/g?(?!\S)")  # how a developer writes that one becomes the other
_GREETING = re.compile(
    r"^(?:(?:ok(?:ay)?|great|thanks?(?: you)?|perfect|cool|nice|good|hi|hey|hello|sure|got it|understood|right"
    r"|yes|yeah|yep"
    r"|alright|awesome|hm+|makes sense|sounds good|btw|by the way|noted|fyi|greetings|dear \w+)\b[\s,!.:;—–-]+"
    r"|(?:another|one|an?|the next|next|last|final|some)(?: (?:more|last|quick|small|other))*"
    r" (?:point|note|remark|comment|matter|aside|observation)s?(?: from [\w ]{2,30})?: )+",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Sentence:
    """`lead` is the heading, the line with a colon or the quoted question that it stands under; `first` is whether it
    opens a paragraph or a bullet, `listed` whether it is one."""

    text: str
    lead: str = ""
    first: bool = True
    listed: bool = False


def sentences(words: str) -> Iterator[Sentence]:
    """What somebody wrote, in order and folded."""
    for paragraph, lead, listed in _paragraphs(ends_of(words)):
        first = True
        for sentence in _split(paragraph):
            flat = _SED.sub(r"\1 -> \2", " ".join(sentence.split())[:_READ])
            if any(map(str.isalnum, flat)):
                yield Sentence(flat, lead, first, listed)
                first = False


def ends_of(words: str) -> str:
    half = _WHOLE // 2
    return words if len(words) <= _WHOLE else f"{words[:half]}\n\n{words[-half:]}"


def ungreeted(sentence: str) -> str:
    bare = _GREETING.sub("", sentence)
    return sentence if len(bare) < 12 or bare == sentence else bare[:1].upper() + bare[1:]


def shortened(text: str, longest: int = LONGEST) -> str:
    flat = " ".join(text[: longest * 4].split())
    if len(flat) <= longest:
        return flat
    begin = flat[:longest]
    return f"{begin[: max(begin.rfind(' '), longest * 2 // 3)].rstrip(' ,;:(')}…"


def _paragraphs(words: str) -> Iterator[tuple[str, str, bool]]:
    """Lines that belong together, with their lead and whether they are a bullet: a wrapped line continues the one
    before it. A heading leads the lines below it too, a line with a colon only bullets."""
    held = lead = under = ""
    listed = headed = False
    asked = ""
    for line in _spoken(words):
        bullet = pasted.BULLET.match(line)
        if quoted := pasted.QUESTION.match(line):
            asked = quoted[1]
            line, bullet = "", None
        if held and not bullet and line and _continues(held, line):
            held = f"{held} {line.strip()}"
            continue
        if held:
            yield held, under, listed
        heading = bool(line) and not bullet and bool(_HEADING.match(line))
        if line and not bullet and not (headed and not heading):
            lead, headed = (line if heading or line.endswith((":", "：")) else ""), heading
        listed, under = bool(bullet), lead if bullet or (headed and not heading) else asked
        asked = "" if line else asked
        held = line[bullet.end() :] if bullet else "" if heading else line
    if held:
        yield held, under, listed


def _continues(held: str, line: str) -> bool:
    if held[-1] in ".!?:;。！？":
        return False
    if _GOES_ON.match(line) or (_SUPPOSED.match(held) and _THEN.match(line)):
        return True
    return len(held) >= 50 and (line[0].islower() or line[:2].isspace())


def _spoken(words: str) -> Iterator[str]:
    """Line by line what is neither code nor quoted nor logged; what is taken out leaves a gap."""
    fence = tag = ""
    lines = words.splitlines()
    output = pasted.blocks(lines)
    for at, line in enumerate(lines):
        if fence or tag:
            fence, tag = _within(line, fence, tag)
            yield ""
        elif found := _FENCE.match(line):
            fence = found[1][:3] if line.count(found[1]) == 1 else ""
            yield ""
        elif (opened := _TAG.match(line)) and opened[1] not in ("b", "i", "em", "strong", "p", "br"):
            tag = "" if f"</{opened[1]}>" in line else opened[1]
            yield ""
        else:
            yield "" if at in output or pasted.is_data(line) else line.rstrip()


def _within(line: str, fence: str, tag: str) -> tuple[str, str]:
    if fence:
        return ("" if line.strip().startswith(fence) else fence), tag
    return fence, ("" if f"</{tag}" in line else tag)


def _split(paragraph: str) -> Iterator[str]:
    begin = 0
    for end in _END.finditer(paragraph):
        if end.start() > begin and not _NO_END.search(paragraph[max(begin, end.start() - 12) : end.start()]):
            yield paragraph[begin : end.end()]
            begin = end.end()
    yield paragraph[begin:]
