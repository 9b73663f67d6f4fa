"""The user's orders: sentences that forbid, demand or choose, by a short table of words, and nothing cleverer."""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dagentd.model.compaction.typed import sentences, trimmed

# What opens a clause: there "use", "keep", "no" and "don't" command; elsewhere they tell of something.
_OPENS = (
    r"(?:^|[,;:–—]\s*|\b(?:please|bitte|por favor|and|but|also|so|just|then|now|let'?s|should|must|can you|could you"
    r"|you can) )"
)
_WORDS = re.compile(
    r"\b(?:never|always|must(?! have been)|mustn'?t|only|instead|rather than|prefer|make sure|be sure|ensure"
    r"|keep in mind|remember to|from now on|go with|stick (?:to|with)|switch to|no longer|(?:is"
    r"|are)(?: not)? to be|has to|have to|(?<!i )(?<!we )(?<!you )needs? to|(?:every|each|all) .{1,30} needs?"
    r"|not allowed|forbidden|prohibited|no circumstances|(?:ask|asking)(?: me| us)?(?: first| before)|without asking"
    r"|decided (?:on|against|for)|no more than|at (?:most|least) \d|hands off|off limits|(?:is|are) not touched"
    # What is said to stay as it is, or not to be altered, is forbidden to touch.
    r"|(?:stays?|stay|remains?|remain|bleibt|bleiben|queda|quedan|reste|restent)\b.{0,30}?\b(?:as|untouched|unchanged"
    r"|wie|so|unangetastet|unverändert|como|igual|iguales|tal|intact\w*|inchangée?s?|tels?|telles?)|(?:wird"
    r"|werden) .{0,30}?nicht (?:angefasst|geändert|verändert|gelöscht|umbenannt)|nicht anfassen|fass .{1,30} nicht an"
    r"|bleib(?:t|en) (?:auf|bei)|verboten|höchstens|mindestens|wir nehmen|hay que|tiene que"
    r"|tienen que|no cambian?|prohibido|ningún concepto|restent? en|aucun cas|interdit|no se (?:toc|cambi|modific"
    r"|borr|elimin|renombr)\w+|no l[aeo]s? \w+[ae]s|on ne \w+ pas|i(?:'d| would) (?:like|prefer|rather|go)|(?:don'?t"
    r"|do not) (?:want|need)|(?<=\w )without|nie|niemals|(?<!noch )immer(?! noch)|muss|müssen|soll|sollen|nur"
    r"|stattdessen|statt|darf|dürfen|verwende|benutze|lass|kein|keine|keinen|keiner|keinem|keines|nunca|siempre|debe"
    r"|deben|debes|sólo|solo|en lugar de|en vez de|usa|utiliza|mantén|prefiero|jamais|toujours|doit|doivent|seulement"
    r"|uniquement|plutôt|au lieu|il faut|utilise|utiliser|utilisez|garde|garder|gardez)\b"
    r"|不要|不能|不准|不许|别|必须|必須|一律|所有.{1,12}用|最多|至少|一定要|务必|只能|只用|只要|总是|始终|永远|绝不|禁止|改用"
    r"|请用|使用|保持|不得|しないで|ないで|必ず|絶対|だけ|のみ|使って|使う|てはいけない|べき|代わりに|ではなく",
)  # fmt: skip
_COMMANDS = (
    r"do not|don'?t|dont|use(?! (?:this|that|it|these|those)\b)|keep|no(?! (?:problem|worries|idea|better|worse"
    r"|change|luck|effect|me|te|es|hay|sé|puedo|tengo|funciona)\b)|not(?! (?:sure|yet|really|bad)\b)|avoid|stop|leave"
    r"|nicht|nix|ne|no \w+es"
)
_OPENING = re.compile(rf"{_OPENS}(?:{_COMMANDS})\b")
# Whoever must do something themselves orders nothing by it.
_MINE = re.compile(
    r"\b(?:i (?:must|have to|need to|should)|do (?:i|we) have to|muss ich|ich (?:muss|soll|darf)|(?:tengo"
    r"|tenemos) que|debo|je dois)\b"
)
# What only "it" should be, is said of what was at hand.
_REACHES = re.compile(
    r"\b(?:make sure|be sure|ensure)\b|\b(?:don'?t|do not) [^,;]*\byet$"
    r"|^(?:(?:and|but|so|no|ok(?:ay)?|yes|hm+),? )*(?:it|this|that|they|these|those) should\b"
)
# An earlier choice that is called wrong. Which it was stands before it, or behind.
_REGRETS = re.compile(
    r"\b(?:was|were|is|are|fue|fueron|era|war|waren|était)(?: (?:just|really|only|all|echt|doch))?(?: (?:a|the|ein"
    r"|eine|una))? (?:mistake|mistakes|nonsense|un error|une erreur|quatsch|unsinn|fehler|mala idea|(?:wrong"
    r"|bad) (?:choice|call|idea))\b|\b(?:wasn'?t|was not|no (?:fue|era)|war keine|n'était pas)(?: an?| une)? (?:good"
    r"|buena|gute|bonne) (?:idea|idee|idée)\b|\b(?:wrong|mistaken) about (?P<of>[^,;:.]+)|(?:是个?错误|は間違い|は失敗)"
)
_SHOULD = re.compile(r"(?<!there )\bshould\b(?! (?:work|have been|be (?:fine|ok)|i\b|we\b))")
# Said of what is: who sees, gets or has a thing orders nothing by it.
_TELLS = re.compile(
    r"^(?:(?:but|and|so|no|hm+|well|ok(?:ay)?|like|basically),? )*(?:(?:i|we|it|that|this|there|you|he|she|they|still"
    r"|the \w+) (?:still |now |also |just |only |already |always |never |think |guess )*(?:don'?t|do not|doesn'?t"
    r"|didn'?t|can'?t|cannot|see|get|got|have|had|has|made|changed|did|was|were|is|am|are|tried|works?|worked|keeps?"
    r"|shows?|showed|fails?|failed)\b(?! (?:(?:not )?to|off limits|want|need|like|no\b|only\b))|(?:the|my|our|his|her"
    r"|their|these|those|all)(?: \w+){1,3} (?:never|always|only|no longer) \w+(?:s|ed)\b|(?:when|if|while|since"
    r"|because) .{0,40}\bi (?:get|got|see|have)\b|let'?s say|unlike|(?:right now|currently|at the moment"
    r"|today|so far|until now|derzeit|momentan|bisher|ahora mismo|actualmente|actuellement)\b(?!.*\b(?:should|must"
    r"|never|don'?t|keep|use)\b)|(?:this|that|it) (?:only |always |never )?(?!needs|has\b)\w+s\b)",
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
_TABLE = re.sub(r"\(\?!.*?\)", "", f"{_WORDS.pattern} {_COMMANDS} should {_REGRETS.pattern}")
_HINTS = {word for word in _TABLE.translate(_ORDER_LETTERS).split() if len(word) > 1}
# Common ones, beside others that are in the table too; "from now on" is looked for by itself.
_HINTS -= {
    "to", "is", "are", "was", "in", "on", "from", "now", "as", "so", "un", "se", "wie", "de", "en", "que", "go", "au",
    "the", "of", "all", "just", "ein", "eine", "una", "we", "you", "me", "us", "an", "at", "for", "about", "more",
    "than", "before", "first", "each", "every", "good", "were", "wir", "il", "auf", "bei", "call", "against",
}  # fmt: skip
_WORD = re.compile(r"\d+|[^\W_]{4,}|[\u3040-\u30ff\u4e00-\u9fff]{2}")
_COMMON = frozenset((
    "please", "should", "would", "could", "must", "always", "never", "only", "instead", "that", "this", "with", "from",
    "have", "make", "sure", "keep", "when", "where", "they", "them", "there", "their", "then", "than", "what", "which",
    "into", "also", "want", "need", "like", "just", "more", "some",
))  # fmt: skip
_REPLACES = re.compile(
    r"\b(?:instead of|rather than|no longer|statt|anstatt|en lugar de|en vez de|au lieu d[e']|drop"
    r"|forget)\b(.*?)(?:\b(?:in|for|on|at|when|because|since|if|as)\b|[,.;:] |$)|(?:ではなく|不用|不再)(.*)",
)
_LONGEST = 320  # characters
_NEAR = 16  # orders with the same word that a later one may replace
_OTHER = 5  # where an order is said again, one in so many of its words may be another


@dataclass(frozen=True)
class Order:
    """The sentence as it was said, and the id of its message."""

    text: str
    source: str


def orders(spoken: Iterable[tuple[str, bool]], source: str) -> Iterator[Order]:
    """Where nobody speaks, only what begins as an order is one. Behind what was wrong comes what holds now."""
    for paragraph, speaks in spoken:
        said = sentences(paragraph) if _may_order(paragraph) else iter(())
        for each in filter(_may_order, said):
            if speaks and _regretted(each):
                yield Order(trimmed(f"{each} {next(said, '')}", _LONGEST), source)
            elif is_order(each) and (speaks or _WORDS.match(each.lower()) or _OPENING.match(each.lower())):
                yield Order(trimmed(each, _LONGEST), source)


def _may_order(sentence: str) -> bool:
    lower = sentence.lower()
    known = not sentence.isascii() or not _HINTS.isdisjoint(lower.translate(_ORDER_LETTERS).split())
    return known or "from now on" in lower


def is_order(sentence: str) -> bool:
    """By what is said, not by what is quoted in it. Patterns that know one case are three times as fast."""
    own = _MINE.sub("…", _QUOTED.sub("…", sentence.lower()))
    if len(own) < 6 or own.endswith((":", "：")):
        return False
    if _TELLS.match(own) and not re.search(r"\bmust\b|\binstead\b", own):
        return False
    if _ASKS.match(own) or own.endswith(("?", "？")):
        return bool(_FIRM.search(own)) and bool(_REQUESTS.match(own))
    return bool(_WORDS.search(own) or _OPENING.search(own) or _SHOULD.search(own))


def is_request(sentence: str) -> bool:
    """Whether such an order is done when it is reached: nothing in it lasts."""
    lower = sentence.lower()
    rest = _REACHES.sub("", lower.replace("instead", "") if _REQUESTS.match(lower) else lower)
    return rest != lower and not _named(sentence) and not is_order(rest)


def standing(found: Sequence[Order]) -> list[Order]:
    """Those that hold: one that is said again or replaced later leaves its place to the last. Each is compared with the
    newest that have a word which it names, or one of its own among their rarest: whoever says an order again says one
    of those. All with all would be minutes for a long list of orders."""
    kept, words = dict[int, Order](), [content(each.text) for each in found]
    often = Counter(word for each in words for word in each)
    rarity = {word: at for at, word in enumerate(sorted(often, key=lambda word: (often[word], word)))}
    having, rarest = (defaultdict[str, deque[int]](lambda: deque(maxlen=_NEAR)) for _ in range(2))
    last = {each.text: at for at, each in enumerate(found)}
    for at, each in enumerate(found):
        if last[each.text] != at:
            continue
        named, by_rarity = _named(each.text), sorted(words[at], key=rarity.__getitem__)
        near = set[int]().union(*map(rarest.__getitem__, by_rarity), *map(having.__getitem__, named))
        for one in near & kept.keys():
            if _replaced(words[one], words[at], named):
                del kept[one]
        kept[at] = each
        for word in by_rarity:
            having[word].append(at)
        for word in by_rarity[: len(by_rarity) // _OTHER + 1]:
            rarest[word].append(at)
    return [*kept.values()]


def _named(text: str) -> frozenset[str]:
    """The words for what an order takes the place of, where it says so."""
    match = _REPLACES.search(text.lower())
    return content(match[1] or match[2] or "") if match else _regretted(text)


def _regretted(text: str) -> frozenset[str]:
    match = _REGRETS.search(text.lower())
    return content(match["of"] or re.split(r"[,;:] ", text[: match.start()])[-1]) if match else frozenset()


def _replaced(old: frozenset[str], new: frozenset[str], named: frozenset[str]) -> bool:
    """By the same again, in so many words; or by one that names it."""
    missing = old - new
    again = len(missing) * _OTHER <= len(old) and not any(map(str.isdecimal, missing))
    return again or (bool(named) and len(named & old) >= max(1, len(named) // 2))


def content(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower())) - _COMMON


def covers(order: Order, words: frozenset[str], sources: Sequence[str]) -> bool:
    wanted = content(order.text)
    share = len(wanted & words) / len(wanted) if wanted else 1.0
    return share >= 0.6 or (share >= 0.3 and order.source in sources)
