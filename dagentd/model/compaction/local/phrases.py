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
    r"|verdict|conclusion|resolution|outcome|ruling|chosen|settled|final (?:answer|call|choice)|decisi(?:ón|ones)"
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
    r"|mandatory|forbidden|non-negotiable|by no means|refrain|no-?go|prohibited|unacceptable|not acceptable|obliged"
    r"|required to"
    r"|not allowed|may not|hard limit)\b|🚫|⛔|必须|必須|禁止|niemals|jamais|nunca",
)
CHOICE = any_of(
    r"^(?:\W|and |so |then |also |please |pls |now |ok(?:ay)?,? |no,? |just |we )*(?:use|go with"
    r"|stick (?:with|to)|prefer|keep|choose|pick|adopt|target|name"
    r"|call|store|put|set|limit|cap|default|pin|treat|stay (?:with|on)|switch|standardi[sz]e|settle|follow"
    r"|avoid|skip|drop|leave|revert"
    r"|return|expose|host|deploy|base|bump|raise|lower|increase|decrease|reduce|change|stop|forget|scrap"
    r"|assume|take)\b",
    r"\blet['’]?s (?!see|look|check|try|find|think|start|continue|discuss|talk|wait|park|move on|test|run|debug"
    r"|get started|first)\w+",
    r"\b(?:we|i|team|you)(?:['’](?:ll|re|ve|d)| will| are| have| should| shall| want to| would| can)?(?: all"
    r"| both| now| just)? (?:use|using|go|going|went|stick|sticking"
    r"|keep(?! \w+ing\b)|keeping|choose|chose|chosen|decide|decided|agree|agreed|settle|settled|prefer|adopt|adopted"
    r"|pick|picked|opt|opted|target|standardi[sz]e"
    r"|switch|switching|switched|store|pin|support|deploy|ship|host|drop|dropping|dropped|stay|staying"
    r"|skip|move|moving|name|call|default)\b",
    r"\b(?:decision|plan|choice|consensus|verdict) (?:is|was)\b|\b(?:it is|it['’]s) (?:decided|settled"
    r"|agreed)\b|\bit is(?:[.!,]|$| for| then)|\b(?:will|is going to|are going to|gonna|shall) (?:be|use"
    r"|run|stay|have|get|live|go|keep|become|happen|sit|work)\b|\bshould be\b|['’]s settled\b",
    r"\b(?:going|sticking|settled|settling) (?:with|on)\b|\b(?:i|we)(?:['’]d| would)? (?:want|prefer|like"
    r"|assume)\b|\b(?:stays?|remains?) (?:with|on)\b"
    r"|\bagreed\b|\bdecided\b|\binstead\b|\bgo(?:es)? (?:in|into|to|through|under)\b",
    r"\b(?:wir (?:nehmen|verwenden|nutzen|bleiben)|nimm|verwende|nutze|benutze|entschieden|stattdessen)\b",
    r"\b(?:usa(?:r|mos|remos)?|vamos a usar|usemos|decidimos|hemos decidido|quedamos)\b",
    r"\b(?:utilis(?:e|ons|er|ez)|on (?:utilise|garde|prend|part sur)|nous (?:utilisons|avons décidé)"
    r"|décidé)\b",
    r"^make (?:the|our) .{2,60} (?:after all|instead)\b",
    r"\b(?:i|we)(?:['’]d| would) (?:much |really )?rather (?!(?:know|hear|wait|think)\b)\w+",
    r"使用|改用|采用|决定|就用|用.{1,20}(?:代替|吧)|使う|使って|使います|にします|に決め|採用|に変更",
)
DECIDED = any_of(  # how an assistant states one, as opposed to telling what it does next
    r"\bso (?:i|we)(?:['’]ve| have)? (?:took|picked|chose|used|went|settled|opted)\b",
    r"\b(?:we|i)(?:['’]ve| have)? (?:decided|chose|chosen|agreed|settled|opted|went with|picked)\b|\b(?:we"
    r"|we['’]re|i['’]m) (?:going|sticking) with\b"
    r"|\bas (?:we )?(?:agreed|decided|discussed)\b|\b(?:the )?(?:final|chosen|agreed|selected) (?:decision"
    r"|approach|design|choice|plan|option|solution)\b"
    r"|\bgoing with\b|\bdecision\b|\bdecided\b|\bagreed\b|\bsettled on\b|\bfrom now on\b|\bgoing forward\b",
    r"\b(?:i|we)(?:['’]ve| have)? (?:selected|gone with|taken)\b|\b(?:ended up (?:with|using|on)|landed on|it is for)\b"
    r"|\b(?:my|our|the) (?:pick|choice|verdict|call|answer)(?: (?:for|on) .{2,60}?)?(?: is|:)",
    r"\b(?:we|we['’]ll|we will|we should|let['’]s) (?:use|keep|go with|stick|store|adopt|target|switch"
    r"|drop|avoid|need|must|not)\b",
    r"\bi(?:['’]ll| will) (?:use|keep|go with|stick|store|adopt|switch|avoid)\b.*\b(?:instead|rather"
    r"|because|since|over|so that|throughout|everywhere|as (?:the|our))\b",
    r"\bdesign (?:decision|choice)\b|\bswitch(?:ing|ed) (?:from|over|to|back)\b|entschieden|决定|決定|décidé"
    r"|decidido",
)
_CHOSEN = (
    r"us(?:e|es|ed|ing)|go|going|went|gone|tak(?:e|en|ing)|took|pick(?:ed|ing)?|choos(?:e|ing)|chosen?"
    r"|settl(?:ed?|ing)|opt(?:ed|ing)?"
    r"|stick(?:ing)?|stuck|buil[dt]|building|bas(?:e|ed|ing)|implement(?:ed|ing)?|adopt(?:ed|ing)?"
    r"|prefer(?:red)?|select(?:ed|ing)?"
    r"|landed|keep(?:ing)?|kept|set|mov(?:e|ed|ing)|migrat(?:e|ed|ing)|switch(?:ed|ing)?|proceed(?:ing)?"
    r"|committed|ended up|stay(?:ing)?"
    r"|standardi[sz](?:ed?|ing)|rely(?:ing)?|put|ma[dk]e|wired|introduced|brought in|favou?r(?:ed|ing)?"
)
MADE = any_of(  # what an assistant did for some use: a decision where it names that use
    rf"\b(?:i|we)(?:['’](?:ve|m|re|ll)| have| am| are| will)?(?: now| just| therefore| thus| then| finally"
    rf"| went ahead and)? (?:{_CHOSEN})\b"
    rf"|^\W*(?:so |then |therefore |now )?(?:{_CHOSEN})\b",
    r"\b(?:it is|wins|won|gets the (?:job|nod)|is the (?:winner|choice|way to go|one|better \w+|best \w+"
    r"|right \w+)|that(?:['’]s| is) what)\b",
)
HOLDS_NOW = any_of(
    r"\b(?:now \w+s (?:on|with|in|by)|will (?:be|use|run|live|sit|stay|get)|is going to (?:be|use)|(?:is|are) now"
    r"|now (?:is|uses?|runs?"
    r"|sits?|lives?|goes)"
    r"|uses|runs on|sits on|(?:is|are) (?:based|built|backed|powered|handled|done|running|implemented) (?:on"
    r"|with|by|in)"
    r"|from (?:here|now) on|going forward)\b",
)
KEYED = re.compile(r"^[^\W\d_][\w /().-]{1,40}\s?(?::|=|->|→|：)\s*\S")
TALK = re.compile(
    r"^\W*(?:thanks?|thank you|thx|great|nice|cool|good|looks|sounds|i see|hmm+|interesting|ok(?:ay)?|yes"
    r"|yep|yeah|no problem|sorry|let me|i['’]?m (?:looking|back|here|not|at|on|happy|curious|reading"
    r"|testing)|wow|awesome"
    r"|perfect|excellent|well done|that(?:['’]s| is| was)? (?:works|looks|explains|great|fine|good|nice|ok"
    r"|right|true|weird|odd|strange)|got it|makes sense|hello|hi|hey|good morning|i['’]ll (?:be|take|check"
    r"|look|test|try|read|let)|cheers|(?:(?:warm|kind|best) )?regards|best(?=,)|bye|ta|merci|brb|no rush|take care"
    r"|talk (?:soon|later|tomorrow)|have a"
    r"|that['’]?s (?:it|all) (?:for|from)|back (?:in|on|at|soon|tomorrow|later|from)|one (?:sec|moment)|haha|lol"
    r"|sure|right|fine|exactly|ah|oh)\b",
)
UNREAL = any_of(  # nothing of the sentence holds, unless another clause says so
    r"\b(?:wonder(?:ing)?|what if|suppos(?:e|ing) (?:we|that|you|for|the)|hypothetical\w*|in theory|theoretically"
    r"|imagine"
    r"|(?:thought|mental) (?:experiment|exercise|game)|for the sake of argument|as (?:just |merely )?an idea"
    r"|in an? (?:ideal|perfect|different|parallel|better) world|should we ever|had (?:we|i)|were (?:we|i) to"
    r"|if (?:we (?:ever|were|had|used)|(?:i|it|they|money|time|only)\b.{0,20}\b(?:were|had))|according to (?:an?|some)"
    r"|not (?:yet |really |quite |so |entirely )?(?:sure|certain|decided|settled)|unsure|undecided|dunno|tbd|who knows"
    r"|(?:have|has|can|could)(?:n['’]t| ?not) (?:yet )?(?:decided?|made up|ruled? out)|nothing (?:is "
    r"|has been )?(?:decided"
    r"|settled)|no (?:firm |clear |final )?(?:verdict|ruling|consensus|commitment|plans?|decision|conclusion|idea"
    r"|opinion)\b"
    r"(?! (?:is|are|to) )|(?:nowhere near|far from|close to) (?:an? )?(?:decision|decided|deciding|conclusion|verdict)"
    r"|(?:can['’]t|need to|have to|yet to) (?:decide|choose)|torn between|up for debate|go(?:ing|ne)? back and forth"
    r"|jury(?:['’]s"
    r"| is)"
    r" (?:still )?out|on the fence|still (?:thinking|weighing|comparing|evaluating|unclear)|think(?:ing)? out loud"
    r"|half thinking|toying with|tempted|i keep thinking|just (?:an idea|a thought|thinking|musing|dreaming"
    r"|brainstorming)"
    r"|(?:idle|random) thought|(?:leave|keep) (?:that|it|this) open|park (?:that|it|this)|sleep on it|nothing to act on"
    r"|some ?day|one day|(?:thoughts|opinions?) on|curious (?:what|how|if|whether|about)|what (?:do )?you think)\b"
    r"|也许|可能|かもしれ",
)
DOUBT = any_of(  # only weighed, asked about or put off
    r"\b(?:maybe|perhaps|possibly|might(?! as well)|could(?! (?:all |finally )?agree\b)"
    r"|(?:we|i|they|it) may (?!not\b|never\b|only\b|as well\b)"
    r"|may (?:be"
    r"|make|fit)"
    r"|think(?:ing)? (?:about|of)|cross(?:ed|es) my mind|on my radar|(?:worth|should|are|am|to|['’](?:re"
    r"|m)) consider(?:ing)?"
    r"|lean(?:ing)? towards?|(?:one|an) option|option [a-d1-9]|alternatively|candidates?|contenders?|in the running"
    r"|(?:long|short|wish|candidate)[ -]?list|worth (?:a look|a try|trying|exploring|looking|thinking|evaluating)"
    r"|(?:an|some) ?other time|next year|down the (?:road|line)|in the (?:future|long run)|keep .{1,40} in mind as"
    r"|(?:your|any) (?:opinion|take|thoughts|view|input)|(?:let me know|tell me|explain"
    r"|remind me)(?: \w+){0,3} (?:what|why"
    r"|how|whether|if|about)|vielleicht|könnte|quizás|tal vez|peut-être|pourrait)\b",
)
LISTED = any_of(r"\b(?:wish[ -]?list|wish|list|plate|backlog|board|agenda)\b")
HEDGED = any_of(  # how an assistant tells of what it did not choose
    r"\b(?:would (?:be|have|fit|suit|work|make|do|probably|also|help|solve)|for (?:example|instance)|pros?\b|cons\b"
    r"|if (?:we|you) (?:use|go|went|want|prefer|like)|either|whether|i (?:guess|suspect)|(?:sounds?|looks?) (?:tempting"
    r"|interesting|promising|nice)|used to|previously|back then)\b",
)
_WORKPLACES = r"(?:team|company|project|job|employer|department|contractor|gig|workplace|startup|firm)s?"
_ELSEWHERE = (
    rf"(?:(?:other|another|different|sister|neighbou?ring|former|previous|last|old|prior|ex)[ -]{_WORKPLACES}"
    r"|(?:other|another|different) (?:client|shop|group|squad)s?)"
)
_SITES = r"(?:twitter|hacker news|hn|reddit|linkedin|youtube|stack ?overflow)"
_MEDIA = (
    r"(?:article|blog(?: post)?|post|podcast|talk|conference|meetup|tweet|newsletter|video|webinar|keynote|case study"
    r"|paper|thread|forum)"
)
HEARSAY = any_of(  # what others do or say
    rf"\b(?:my|our|their|his|her|the|an?|some|in|at) {_ELSEWHERE}\b|\b(?:i|we) (?:just |once |recently )?(?:read"
    rf"|heard|saw"
    r"|watched) (?:about|of|that|somewhere|an?|some|on|in|from|good|great|how|people|where|it)\b|\bi hear\b"
    r"|\bapparently\b",
    r"\b(?:i['’]m|i am|i was|(?:i['’]ve|i have) been) (?:just |currently |still )*(?:reading|watching|listening"
    r"|browsing|looking at|staring at|playing with)\b",
    r"\b(?:asked|told) (?:me|us) (?:whether|if|what|why|how|which|when|where)\b",
    r"\b(?:my|an?|our|some) (?:friend|mate|cousin|brother|buddy|acquaintance|ex-colleague|competitor|rival)s?\b"
    r"|\bcolleague from\b",
    r"\b(?:they|somebody|someone|some people|folks|everyone else|everybody else|others|google|netflix|shopify|facebook"
    r"|amazon)(?: \w+){0,3}? (?:used|uses?|using|says?|said|swears?|praised?|praises|recommend(?:s|ed)?|runs?"
    r"|ran|loves?"
    r"|likes?|chose|went|switched|moved|hate[sd]?)\b|\bpeople (?:on|in|at|say|swear|recommend|praise|love|like)\b",
    rf"\b(?:in|on|from|there was|there is|according to|saw|read|watched|found) (?:(?:an?|some) {_MEDIA}|the (?:podcast"
    rf"|newsletter|news|forum|article|keynote)|{_SITES})\b"
    rf"|\b(?:an?|some|this|the) {_MEDIA} (?:about|where|that|on how|says?|said|praising|claim(?:s"
    rf"|ing))\b(?=.* (?:was|is|says?"
    rf"|said|praised?|recommend))|\b{_SITES} \w+s\b",
    r"\b(?:uses?|runs?|has|have|had|picked|chose|takes?|likes?)(?: \S+){1,4} (?:for|as|in) their\b",
    r"\b(?:my|an?|some) \w+['’]s (?:startup|company|team|employer|firm|shop|project)\b",
    r"\b(?:guys|folks|people|friends|devs|engineers) (?:over )?(?:at|from) [^,]{2,40}? \w+(?:ed|s)\b.*\btheir\b",
    r"\b(?:reportedly|allegedly|supposedly|rumou?rs?|rumou?red|the competition|competitors?|job ads?)\b",
    r"^\W*(?:an?|some|one|another) [^,;:.]{2,60}? (?:claim(?:s|ed)?|sa(?:ys?|id)|mention(?:s|ed)?|sw(?:ears?|ore)"
    r"|brag(?:s|ged)?|boast(?:s|ed)?|rav(?:es?|ed)|report(?:s|ed)|argue[sd]?|told|tells)\b(?!.*\b(?:we|us|our|you)\b)",
)
REPORTED = any_of(
    r"\b(?:docs?|documentation|readme|article|blog(?: post)?|tutorial|stack ?overflow|comment|log|logs"
    r"|output|page|changelog|commit message) (?:says?|said|claims?|states?|mentions?|suggests?"
    r"|recommends?)\b",
)
BLOCKED = re.compile(
    r"^\W*(?:(?:i['’]m|i am|we['’]re|we are|this is|currently|still|now) )*"
    r"(?:blocked|blockers?|stuck)(?: (?:on|by|at))?(?::|\s)"
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
