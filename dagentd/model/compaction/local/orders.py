"""The user's orders: the text that they typed, and the sentences of it that forbid, demand or choose, by a short table
of words, and nothing cleverer."""

from __future__ import annotations

import operator
import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dagentd.model.compaction.items import Item

# What a user typed: their message without pasted output, code, and what the program around it put in.

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
# A tag with a hyphen is a wrapper of the program, as in <system-reminder>; nobody types one. Others hold a paste.
_WRAPPED = re.compile(
    r"<([a-z]+(?:[-_][a-z]+)+|files?|documents?|details|source|output|stdout|stderr|log|tool|result|pre|code|blockquote)"
    r"\b[^>]*>.*?(?:</\1>|\Z)|(?m:^And got this output:$).*",  # the last is aider's, behind a command that it ran
    re.S,
)
_NOTICE = re.compile(
    r"^\s*(?:\[(?:Request|Response|Tool use|Image|Pasted|Attached)\b[^\]]*\]|-{3,}|/[a-z-]+|Caveat: .*)\s*$", re.M
)
FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1[^\n]*$|\Z)", re.M | re.S)
COMMAND = "<command-name>"  # of a slash command: what comes next is its own text, not the user's
_MACHINE = re.compile(
    r"""^\s*(?:
      [$❯➜%>]\s|PS\s\S+>|[A-Z]:\\\S*>|>>>\s|\+{3}\s|-{3}\s|@@\s                        # prompts and diffs
    | \[?\d{4}-\d\d-\d\d[T\s]|\[?\d\d:\d\d:\d\d|\w{3}\s+\d+\s\d\d:\d\d                    # clocks
    | (?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)\s/\S*\W+(?:HTTP/|\d{3}\b)|\d{1,3}(?:\.\d{1,3}){3}\b   # requests
    | \[?(?:debug|info|warn(?:ing)?|error|trace|fatal|notice)\]?\s*[:|\]]\s                # levels of logs
    | (?:[A-Z]:)?[^\s:]+:\d+(?::\d+)?:\s+(?:\w*(?:error|warning)|note|[A-Z]{1,4}\d{2,4})\b   # compilers and linters
    | at\s+\S+.*[:(]\d+|File\s".+",\sline|Traceback|\w*(?:Error|Exception|Warning):\s      # traces
    | npm\s(?:ERR!|WARN|notice|error)|E\s{2,}\S|test\s\S+\s\.{3}\s|test\sresult:|thread\s'.*panicked|running\s\d+\stest
    | (?:PASS|FAIL|FAILED|ok|PASSED)\s+\S+[./:]|={4,}|-{5,}|_{4,}|\d+\s(?:passed
    |failed|errors?|warnings?)\b
    | (?:import|from\s\S+\simport|def|class|return|const|let|var|function|func|package|public|private|static
    |async\sdef|if|for|while|elif|else|try|except)\b[^.?!]*[:;{(]\s*$
    | [\w.\[\]"'>-]+\s*(?:=|:=|\+=|=>)\s*\S|"?[\w.-]+"?\s*:\s*(?:["'\[{]|\d+,?$|true|false|null)   # assignments, fields
    | [{}()\[\];]+,?\s*$|[\w.]+\(\s*$|</?[A-Za-z][^>]*>|\#!|//|/\*|\*\s@|\|.*\|\s*$|[│├└┌╭╰─━]|[📁📤🔍📂📄✅❌⚠✓✗✖●⎿⏺]
    )""",
    re.X | re.I,
)  # fmt: skip
_COLUMNS, _PAIRS = re.compile(r"\S\s{3,}(?=\S)"), re.compile(r"(?:^|\s)\w+=\S+\s\w+=\S+\s\w+=")
_LETTERS = re.compile(r"[^\W\d_]")
_END = re.compile(r"[.!?][\"')\]]*(?=\s)|[。！？]|\n")
_BULLET = re.compile(r"\A\s*(?:[-*•]|\d{1,2}[.)])\s+")
_ABBREVIATED = ("e.g.", "i.e.", "etc.", "vs.", "cf.", "bzw.", "z.B.", "ca.", "Nr.", "Mr.", "Dr.", "...")
# Who speaks of themselves or to somebody; a long paragraph without it is a report that was pasted.
_SPEAKS = re.compile(
    r"\b(?:i|i'm|i'd|me|my|mine|we|us|our|you|your|please|let'?s|pls|plz|ich|mir|mich|wir|uns|du|dir|dein\w*|sie"
    r"|ihr|bitte|yo|mi|nosotros|tú|usted|por favor|quiero|je|j'ai|nous|vous|moi|mon|ma|merci|veux)\b"
    r"|[我你您请們们私僕君]|ください|下さい|して"
)
_NUMBERED = re.compile(r"\s*\d{1,2}\.")
_LONG = 240  # characters of a paragraph


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
        """Each with whether somebody speaks in it: a long one in which nobody does is a finding or a report that was
        pasted as prose, and so is all of a long message."""
        speaks = [_SPEAKS.search(each.lower()) is not None for each in self.paragraphs]
        report = len(self.text) > 2 * _LONG and not any(speaks)
        short = (len(each) < _LONG and not report for each in self.paragraphs)
        return tuple(zip(self.paragraphs, map(operator.or_, speaks, short), strict=True))


def typed(words: str) -> Typed:
    text = _CONTROL.sub("", words.replace("\r", ""))
    if "<" in text or "got this output:" in text:
        text = _WRAPPED.sub("\n", text)
    pasted = [match[0] for match in FENCE.finditer(text)]
    lines = _NOTICE.sub("", FENCE.sub("\n\n", text)).split("\n")
    kept: list[str] = []
    for line, machine in zip(lines, _machine(lines), strict=True):
        own, behind = _before_output(line) if not machine else ("", line)
        kept.append(own)
        pasted += [behind] if behind else []
    paragraphs = (" ".join(each.split()) for each in re.split(r"\n\s*\n|\n(?=\s*[-*•]\s)", "\n".join(kept)))
    return Typed(tuple(each for each in paragraphs if _LETTERS.search(each)), "\n".join(pasted))


def _before_output(line: str) -> tuple[str, str]:
    """A line that goes over into output behind a colon: "I get this: ERROR 12:30:01 …"."""
    at = line.find(": ")
    while at >= 0:
        if is_machine(line[at + 2 :]):
            return line[: at + 1], line[at + 2 :]
        at = line.find(": ", at + 1)
    return line, ""


def is_machine(line: str) -> bool:
    """Whether no person types such a line: output, logs, code."""
    bare = line.rstrip()
    if _MACHINE.match(line) or bare.endswith((";", "{")) or (bare and line.startswith(("\t", "    "))):
        return True
    columns = "   " in bare and len(_COLUMNS.findall(bare)) > 1
    return columns or (bare.count("=") > 2 and _PAIRS.search(bare) is not None)


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
                yield _BULLET.sub("", flat, 1) if flat[0] in "-*•0123456789" else flat
    if rest := " ".join(text[start:].split()):
        yield _BULLET.sub("", rest, 1)


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


# Sentences in which a user forbids, demands or chooses: a short table of words, and nothing cleverer.

# What opens a clause: there "use", "keep", "no" and "don't" command; elsewhere they tell of something.
_OPENS = r"(?:^|[,;:–—]\s*|\b(?:please|and|but|also|so|just|then|now|let'?s|should|must|can you|could you|you can) )"
_WORDS = re.compile(
    r"\b(?:never|always|must|mustn'?t|only|instead|rather than|prefer|make sure|be sure|ensure|keep in mind|remember to"
    r"|from now on|go with|stick (?:to|with)|switch to|no longer|needs? no|(?:is|are) to be|has to"
    r"|(?:should|must|may|shall)(?: not|n'?t)"
    r"|i(?:'d| would) (?:like|prefer|rather|go)|(?:don'?t|do not) (?:want|need)|(?<=\w )without"
    r"|nie|niemals|immer|muss|müssen|soll|sollen|nur|stattdessen|statt|darf|dürfen|verwende|benutze|lass"
    r"|kein|keine|keinen|keiner|keinem|keines"
    r"|nunca|siempre|debe|deben|debes|sólo|solo|en lugar de|en vez de|usa|utiliza|mantén|prefiero"
    r"|jamais|toujours|doit|doivent|seulement|uniquement|plutôt|au lieu|il faut"
    r"|utilise|utiliser|utilisez|garde|garder|gardez"
    r"|ne \w+ (?:pas|plus|que))\b"
    r"|不要|不能|不准|不许|别|必须|必須|一定要|务必|只能|只用|只要|总是|始终|永远|绝不|禁止|改用|请用|使用|保持|不得"
    r"|しないで|ないで|必ず|絶対|だけ|のみ|使って|使う|てはいけない|べき|代わりに|ではなく",
)  # fmt: skip
_COMMANDS = (
    r"do not|don'?t|dont|use|keep|no(?! (?:problem|worries|idea|better|worse|change|luck|effect)\b)"
    r"|not(?! (?:sure|yet|really|bad)\b)|avoid|stop|leave|bitte nicht|nicht|ne|no \w+es"
)
_OPENING = re.compile(rf"{_OPENS}(?:{_COMMANDS})\b")
_FIRST = re.compile(
    r"^(?:never|always|do not|don'?t|dont|must|only|use|keep|no|avoid|make sure|ensure|nie|niemals|immer|nur|nunca"
    r"|siempre|ne|jamais|toujours|不要|必须|禁止|必ず|絶対)\b",
)
_SHOULD = re.compile(r"\bshould\b(?! (?:work|be (?:fine|ok)|i\b|we\b))")
# Said of what is: who sees, gets or has a thing orders nothing by it.
_TELLS = re.compile(
    r"^(?:(?:but|and|so|no|hm+|well|ok(?:ay)?|like|basically),? )*(?:(?:i|we|it|that|this|there|you|he|she|they"
    r"|still|the \w+) (?:still |now |also |just |only |already |always |never |think |guess )*"
    r"(?:don'?t|do not|doesn'?t|didn'?t|can'?t|cannot|see|get|got|have|had|has|made|changed|did|was|were|is|am|are"
    r"|tried|works?|worked|keeps?|shows?|showed|fails?|failed)\b(?! (?:to|want|need|like|no\b|only\b))"
    r"|(?:the|my|our|his|her|their|these|those|all)(?: \w+){1,3} (?:never|always|only|no longer) \w+(?:s|ed)\b"
    r"|(?:when|if|while|since|because) .{0,40}\bi (?:get|got|see|have)\b|let'?s say|unlike|(?:this|that"
    r"|it) (?!needs|has\b)\w+s\b)",
)
_ASKS = re.compile(
    r"(?:what|why|how|where|when does|which|who|is|are|does|do (?:i|we|you)|did|was|were|has|have|any"
    r"|will|would it|warum|wie|wo|qué|cómo|pourquoi|comment)\b",
)
_FIRM = re.compile(
    r"\b(?:never|always|instead|keep|prefer|don'?t|do not|must|nie|immer|statt|nunca|siempre|jamais)\b|不要|必须|必ず",
)
_REQUESTS = re.compile(
    r"^(?:(?:and|also|so|please|ok(?:ay)?),? )*(?:can|could|would|will|shall|should|perhaps|maybe|may)\b",
)
_QUOTED = re.compile(r"\"[^\"]{8,}\"|'[^']{8,}'|`[^`]{8,}`|“[^”]{8,}”")
# Each order has one of the words of the table, but for other scripts: most sentences need no more than this look.
_ORDER_LETTERS = str.maketrans({sign: " " for sign in map(chr, range(128)) if not sign.islower()})
_HINTS = {word for word in f"{_WORDS.pattern} {_COMMANDS} should".translate(_ORDER_LETTERS).split() if len(word) > 1}
_HINTS -= {"to", "is", "are", "in", "on", "from", "now"}  # common; "from now on" is looked for by itself
_WORD = re.compile(r"\d+|[^\W_]{4,}|[\u3040-\u30ff\u4e00-\u9fff]{2}")
_COMMON = frozenset((
    "please", "should", "would", "could", "must", "always", "never", "only", "instead", "that", "this", "with", "from",
    "have", "make", "sure", "keep", "when", "where", "they", "them", "there", "their", "then", "than", "what", "which",
    "into", "also", "want", "need", "like", "just", "more", "some",
))  # fmt: skip
_REPLACES = re.compile(
    r"\b(?:instead of|rather than|no longer|statt|anstatt|en lugar de|en vez de|au lieu d[e']|drop"
    r"|forget)\b(.*?)(?:\b(?:in|for|on|at|when|because|since|if|as)\b|[,.;:] |$)|(?:ではなく|不用|不再)(.*)",
    re.I,
)
_LONGEST = 320  # characters
_MOST = 10  # that a model is reminded of
_NEAR = 16  # orders with the same word that a later one may replace
_OTHER = 5  # where an order is said again, one in so many of its words may be another


@dataclass(frozen=True)
class Order:
    """The sentence as it was said, and the id of its message."""

    text: str
    source: str


def orders(spoken: Iterable[tuple[str, bool]], source: str) -> Iterator[Order]:
    """Where nobody speaks, only what begins as an order is one."""
    for paragraph, speaks in spoken:
        for each in sentences(paragraph):
            if is_order(each) and (speaks or _FIRST.match(each.lower())):
                yield Order(trimmed(each, _LONGEST), source)


def is_order(sentence: str) -> bool:
    """By what is said, not by what is quoted in it. Patterns that know one case are three times as fast."""
    lower = sentence.lower()
    if sentence.isascii() and "from now on" not in lower and _HINTS.isdisjoint(lower.translate(_ORDER_LETTERS).split()):
        return False
    own = _QUOTED.sub("…", lower)
    if len(own) < 6 or own.endswith((":", "：")):
        return False
    if _TELLS.match(own) and not re.search(r"\bmust\b|\binstead\b", own):
        return False
    if _ASKS.match(own) or own.endswith(("?", "？")):
        return bool(_FIRM.search(own)) and bool(_REQUESTS.match(own))
    return bool(_WORDS.search(own) or _OPENING.search(own) or _SHOULD.search(own))


def standing(found: Sequence[Order]) -> list[Order]:
    """Those that hold: one that is said again or replaced later leaves its place to the last. Each is compared with the
    newest that have a word which it names in their text, or one of its own among their rarest; of these an order has so
    many that whoever says it again says one of them. All with all would be minutes for a long list of orders."""
    kept, words = dict[int, Order](), [content(each.text) for each in found]
    often = Counter(word for each in words for word in each)
    having, rarest = (defaultdict[str, deque[int]](lambda: deque(maxlen=_NEAR)) for _ in range(2))
    last = {each.text: at for at, each in enumerate(found)}
    for at, each in enumerate(found):
        if last[each.text] != at:
            continue
        named = _named(each.text)
        near = {one for word in words[at] for one in rarest[word]} | {one for word in named for one in having[word]}
        for one in near & kept.keys():
            if _replaced(words[one], words[at], named):
                del kept[one]
        kept[at] = each
        by_rarity = sorted(sorted(words[at]), key=often.__getitem__)
        for word in by_rarity:
            having[word].append(at)
        for word in by_rarity[: len(by_rarity) // _OTHER + 1]:
            rarest[word].append(at)
    return [*kept.values()]


def _named(text: str) -> frozenset[str]:
    """The words for what an order takes the place of, where it says so."""
    match = _REPLACES.search(text)
    return content(match[1] or match[2] or "") if match else frozenset()


def _replaced(old: frozenset[str], new: frozenset[str], named: frozenset[str]) -> bool:
    """By the same again, in so many words; or by one that names it."""
    missing = old - new
    again = len(missing) * _OTHER <= len(old) and not any(map(str.isdecimal, missing))
    return again or (bool(named) and len(named & old) >= max(1, len(named) // 2))


def content(text: str) -> frozenset[str]:
    return frozenset(word for word in map(str.lower, _WORD.findall(text)) if word not in _COMMON)


def uncovered(found: Sequence[Order], items: Sequence[Item]) -> list[Order]:
    """Those that no item covers: by most of its words, or by some of them and its message as a source."""
    held = [(content(f"{item.text} {item.quote}"), item.sources) for item in items]
    return [one for one in standing(found) if not any(_covers(one, words, ids) for words, ids in held)][-_MOST:]


def _covers(order: Order, words: frozenset[str], sources: Sequence[str]) -> bool:
    wanted = content(order.text)
    share = len(wanted & words) / len(wanted) if wanted else 1.0
    return share >= 0.6 or (share >= 0.3 and order.source in sources)
