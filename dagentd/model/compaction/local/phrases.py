"""How people say that something is decided, limited or so, and how they only talk about it.

All patterns here and beside are for text in lower case, which is several times faster than to ignore it. English
first; of German, Spanish, French, Chinese and Japanese the handful of words that carry most statements."""

from __future__ import annotations

import re
from collections.abc import Iterator


def any_of(*patterns: str) -> re.Pattern[str]:
    """One pattern of all. What begins at a word stands behind one boundary: to look for it before each of a hundred
    alternatives, at each letter, took four times as long."""
    every = [one for pattern in patterns for one in _alternatives(pattern)]
    at_words = "|".join(one.removeprefix(r"\b") for one in every if one.startswith(r"\b"))
    others = [one for one in every if not one.startswith(r"\b")]
    return re.compile("|".join([rf"\b(?:{at_words})", *others] if at_words else others))


def _alternatives(pattern: str) -> Iterator[str]:
    """Split where a bar is neither in a group nor in a class."""
    depth, begin = 0, 0
    for found in re.finditer(r"\\.|\[(?:\\.|[^\]])*\]|[()|]", pattern):
        depth += {"(": 1, ")": -1}.get(found[0], 0)
        if found[0] == "|" and depth == 0:
            yield pattern[begin : found.start()]
            begin = found.end()
    yield pattern[begin:]


STEERING = any_of(
    r"\b(?:ignore|disregard|forget)\b.{0,30}\b(?:previous|prior|above|earlier"
    r"|all)\b.{0,20}\b(?:instructions?|prompts?|rules)\b",
    r"\byou are now\b|\bsystem prompt\b|\b(?:add|record|insert|write)\b.{0,20}\b(?:a|this"
    r"|the following) decision\b",
)
LABEL = any_of(
    r"^\W*(?:(?:final|new|key|hard|design|team|architecture|tech(?:nical)?|another"
    r"|important)\s+)?(?:decisions?|decided|constraints?"
    r"|requirements?|rules?|conventions?|polic(?:y|ies)|agreed|agreement|important|remember|guidelines?"
    r"|non-negotiables?|invariants?"
    r"|limits?|adr|ground rules|things to (?:remember|keep in mind)|entscheidung(?:en)?|vorgaben?|regeln?"
    r"|decisi(?:ón|ones)"
    r"|restricci(?:ón|ones)|décisions?|contraintes?|règles?|决定|约束|规则|決定|制約|ルール)(?:\s*(?:#"
    r"|no\.?)?\s*\d+)?\W{0,3}(?:[:：—–]|\s-\s|$)",
)
CONSTRAINT = any_of(
    r"^(?:no|nothing|every|each|all|any) |, ever\b|\bmay\b|\bceiling\b|\bor less\b",
    r"\b(?:must(?:n['’]?t)?|never|always|shall(?: not)?|may not|mustn['’]t|cannot|can['’]t|has to|have to"
    r"|needs? to (?:be|stay|remain|support"
    r"|work|run|fit|keep|handle|pass)|required?|requires|mandatory|forbidden|prohibited|not allowed"
    r"|off[- ]limits|at (?:most|least)"
    r"|no (?:more|less|fewer|later|earlier|longer) than|no new\b|(?:not|never) (?:exceed|before|after)"
    r"|exceed|up to \d|under \d|below \d|above \d"
    r"|within \d|maximum|minimum|max\.?|min\.?|limit(?:ed)?|cap(?:ped)?|hard (?:limit|requirement)"
    r"|non-negotiable|deadline|threshold|only"
    r"|don['’]?t|do not|avoid|make sure|ensure|should(?:n['’]t)?|without|by default|unless"
    r"|until further notice|frozen|freeze|read-only"
    r"|are not to|is not to|no one|nobody|everything|everyone|stays?|keep|ought to|supposed to|(?:it['’]?s"
    r"|it is|is|are) (?:very |really |absolutely )?(?:crucial|critical|essential|important|vital"
    r"|imperative)|has got to|guarantee[sd]?|remains?|exclusively|strictly)\b",
    r"\b(?:muss|müssen|darf|dürfen|niemals|immer|höchstens|mindestens|maximal|nur|soll(?:en|te)?|kein\w*"
    r"|nicht)\b",
    r"\b(?:debe[n]?|nunca|siempre|como máximo|al menos|solo|sólo|no (?:usar|uses|debe))\b",
    r"\b(?:doit|doivent|jamais|toujours|au (?:plus|moins)|uniquement|il (?:ne )?faut|ne .{1,30} pas)\b",
    r"必须|必須|不要|不得|不能|永远|总是|最多|最少|至少|只能|禁止|べき|してはいけない|しないで|必ず|以内|以下|以上|のみ",
)
FIRM = any_of(  # the part of these that an explanation rarely has
    r"\b(?:must(?: not|n['’]?t)?|never|always|at (?:most|least)|no (?:more|less|fewer|later) than"
    r"|mandatory|forbidden|non-negotiable"
    r"|not allowed|may not|hard limit)\b|必须|必須|禁止|niemals|jamais|nunca",
)
CHOICE = any_of(
    r"^(?:\W|and |so |then |also |please |pls |now |ok(?:ay)?,? |no,? |just |we )*(?:use|go with"
    r"|stick (?:with|to)|prefer|keep|choose|pick|adopt|target|name"
    r"|call|store|put|set|limit|cap|default|pin|treat|stay (?:with|on)|switch|standardi[sz]e|settle|follow"
    r"|avoid|skip|drop|leave|revert"
    r"|return|expose|host|deploy|base|bump|raise|lower|increase|decrease|reduce|change|stop|forget|scrap"
    r"|assume|take)\b",
    r"\blet['’]?s (?!see|look|check|try|find|think|start|continue|discuss|talk|wait|move on|test|run|debug"
    r"|get started|first)\w+",
    r"\b(?:we|i|team|you)(?:['’](?:ll|re|ve|d)| will| are| have| should| shall| want to| would)?(?: all"
    r"| both| now| just)? (?:use|using|go|going|went|stick|sticking"
    r"|keep|keeping|choose|chose|chosen|decide|decided|agree|agreed|settle|settled|prefer|adopt|adopted"
    r"|pick|picked|opt|opted|target|standardi[sz]e"
    r"|switch|switching|switched|store|pin|support|deploy|ship|host|drop|dropping|dropped|stay|staying"
    r"|skip|move|moving|name|call|default)\b",
    r"\b(?:decision|plan|choice|consensus|verdict) (?:is|was)\b|\b(?:it is|it['’]s) (?:decided|settled"
    r"|agreed)\b|\bit is(?:[.!,]|$| for| then)|\b(?:will|is going to|are going to|gonna|shall) (?:be|use"
    r"|run|stay|have|get|live|go|keep|become|happen|sit|work)\b|\bshould be\b|['’]s settled\b",
    r"\b(?:going|sticking|settled|settling) (?:with|on)\b|\bi(?:['’]d| would)? (?:want|prefer|like)\b"
    r"|\bagreed\b|\bdecided\b|\binstead\b|\bgo(?:es)? (?:in|into|to|through|under)\b",
    r"\b(?:wir (?:nehmen|verwenden|nutzen|bleiben)|nimm|verwende|nutze|benutze|entschieden|stattdessen)\b",
    r"\b(?:usa(?:r|mos|remos)?|vamos a usar|usemos|decidimos|hemos decidido|quedamos)\b",
    r"\b(?:utilis(?:e|ons|er|ez)|on (?:utilise|garde|prend|part sur)|nous (?:utilisons|avons décidé)"
    r"|décidé)\b",
    r"使用|改用|采用|决定|就用|用.{1,20}(?:代替|吧)|使う|使って|使います|にします|に決め|採用|に変更",
)
DECIDED = any_of(  # how an assistant states one, as opposed to telling what it does next
    r"\b(?:we|i)(?:['’]ve| have)? (?:decided|chose|chosen|agreed|settled|opted|went with|picked)\b|\b(?:we"
    r"|we['’]re|i['’]m) (?:going|sticking) with\b"
    r"|\bas (?:we )?(?:agreed|decided|discussed)\b|\b(?:the )?(?:final|chosen|agreed|selected) (?:decision"
    r"|approach|design|choice|plan|option|solution)\b"
    r"|\bgoing with\b|\bdecision\b|\bdecided\b|\bagreed\b|\bsettled on\b|\bfrom now on\b|\bgoing forward\b",
    r"\b(?:we|we['’]ll|we will|we should|let['’]s) (?:use|keep|go with|stick|store|adopt|target|switch"
    r"|drop|avoid|need|must|not)\b",
    r"\bi(?:['’]ll| will) (?:use|keep|go with|stick|store|adopt|switch|avoid)\b.*\b(?:instead|rather"
    r"|because|since|over|so that|throughout|everywhere|as (?:the|our))\b",
    r"\bdesign (?:decision|choice)\b|\bswitch(?:ing|ed) (?:from|over|to|back)\b|entschieden|决定|決定|décidé"
    r"|decidido",
)
KEYED = re.compile(r"^[^\W\d_][\w /().-]{1,40}\s?(?::|=|->|→|：)\s*\S")
TALK = re.compile(
    r"^\W*(?:thanks?|thank you|thx|great|nice|cool|good|looks|sounds|i see|hmm+|interesting|ok(?:ay)?|yes"
    r"|yep|yeah|no problem|sorry|let me|i['’]?m (?:looking|back|here|not|at|on|happy|curious|reading"
    r"|testing)|wow|awesome"
    r"|perfect|excellent|well done|that(?:['’]s| is| was)? (?:works|looks|explains|great|fine|good|nice|ok"
    r"|right|true|weird|odd|strange)|got it|makes sense|hello|hi|hey|good morning|i['’]ll (?:be|take|check"
    r"|look|test|try|read|let)|one (?:sec|moment)|haha|lol|sure|right|fine|exactly|ah|oh)\b",
)
HEDGED = any_of(
    r"\b(?:maybe|perhaps|might|wonder(?:ing)?|not sure|unsure|what if|possibly|thinking (?:about|of)"
    r"|consider(?:ing)?|could|one option|option [a-d1-9]\b"
    r"|alternatively|for example|for instance|suppose|hypothetically|in theory|would be|would have"
    r"|if we (?:were|had|used|use|go|went)|if you (?:want|prefer|like)|i (?:guess|suspect)"
    r"|pros?\b|cons\b|either|whether|undecided|not (?:yet )?decided|haven['’]t decided|tbd|no decision"
    r"|not settled|up for debate|vielleicht|könnte|quizás|tal vez|peut-être|pourrait)\b|也许|可能|かもしれ",
    r"\b(?:used to|previously|back then|in (?:my|our) (?:last|old|previous) (?:project|job|team)"
    r"|once upon)\b",
)
REPORTED = any_of(
    r"\b(?:docs?|documentation|readme|article|blog(?: post)?|tutorial|stack ?overflow|comment|log|logs"
    r"|output|page|changelog|commit message) (?:says?|said|claims?|states?|mentions?|suggests?"
    r"|recommends?)\b",
)
PROPOSAL = any_of(
    r"\b(?:i(?:['’]d| would)? (?:recommend|suggest|propose|go with)|my (?:recommendation|suggestion"
    r"|proposal)|should (?:we|i)|shall (?:we|i)|do you want (?:me )?(?:to|us)|would you like|how about"
    r"|proposed?)\b",
)
AFFIRMED = re.compile(
    r"^\W*(?:yes|yep|yeah|sure|ok(?:ay)?|agreed|go (?:ahead|for it|with (?:that|it))|do (?:it|that|so)"
    r"|sounds? good|perfect|approved|lgtm|let['’]s do (?:it|that)|please do|correct|exactly|makes sense"
    r"|works for me|ja|sí|oui|好|可以|はい|confirmed)\b[^?]{0,60}$",
)
VALUE_VERB = any_of(
    r"\s(?:is|are|was|were|has|have|had|be|equals?|runs? (?:on|at|in|every)|listens?|lives? (?:in|at"
    r"|under)|sits? (?:in|at)|resides?|points? to|starts? (?:at|in|with)|expires?|takes?|costs?|contains?"
    r"|holds?|uses?|needs?|weighs?|measured|reached|dropped|rose|went|came|stands? at|totals?|counts?"
    r"|belongs?|comes? (?:from|in)|stored|located|found|found in|defined|expects?|accepts?|allows?"
    r"|defaults?|supports?|handles?|serves?|returns?|processes|averages?|peaks?)\s|[:=：]\s?|ist|liegt|está"
    r"|es\s|est\s|是|在|は|です",
)
