"""How people say that something is decided, limited, changed, wanted, done or only thought about.

English first; of German, Spanish, French, Chinese and Japanese the handful of words that carry most statements."""

from __future__ import annotations

import re


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


STEERING = _any(
    r"\b(?:ignore|disregard|forget)\b.{0,30}\b(?:previous|prior|above|earlier|all)\b.{0,20}\b(?:instructions?|prompts?|rules)\b",
    r"\byou are now\b|\bsystem prompt\b|\b(?:add|record|insert|write)\b.{0,20}\b(?:a|this|the following) decision\b",
)
LABEL = _any(
    r"^\W*(?:(?:final|new|key|hard|design|team|architecture|tech(?:nical)?|another|important)\s+)?(?:decisions?|decided|constraints?"
    r"|requirements?|rules?|conventions?|polic(?:y|ies)|agreed|agreement|important|remember|guidelines?|non-negotiables?|invariants?"
    r"|limits?|adr|ground rules|things to (?:remember|keep in mind)|entscheidung(?:en)?|vorgaben?|regeln?|decisi(?:ón|ones)"
    r"|restricci(?:ón|ones)|décisions?|contraintes?|règles?|决定|约束|规则|決定|制約|ルール)(?:\s*(?:#|no\.?)?\s*\d+)?\W{0,3}(?:[:：—–]|\s-\s|$)",
)
CONSTRAINT = _any(
    r"\b(?:must(?:n['’]?t)?|never|always|shall(?: not)?|may not|mustn['’]t|cannot|can['’]t|has to|have to|needs? to (?:be|stay|remain|support"
    r"|work|run|fit|keep|handle|pass)|required?|requires|mandatory|forbidden|prohibited|not allowed|off[- ]limits|at (?:most|least)"
    r"|no (?:more|less|fewer|later|earlier|longer) than|no new\b|(?:not|never) (?:exceed|before|after)|exceed|up to \d|under \d|below \d|above \d"
    r"|within \d|maximum|minimum|max\.?|min\.?|limit(?:ed)?|cap(?:ped)?|hard (?:limit|requirement)|non-negotiable|deadline|threshold|only"
    r"|don['’]?t|do not|avoid|make sure|ensure|should(?:n['’]t)?|without|by default|unless|until further notice|frozen|freeze|read-only"
    r"|are not to|is not to|no one|nobody|everything|everyone|stays?|keep|ought to|supposed to|exclusively|strictly)\b",
    r"\b(?:muss|müssen|darf|dürfen|niemals|immer|höchstens|mindestens|maximal|nur|soll(?:en|te)?|kein\w*|nicht)\b",
    r"\b(?:debe[n]?|nunca|siempre|como máximo|al menos|solo|sólo|no (?:usar|uses|debe))\b",
    r"\b(?:doit|doivent|jamais|toujours|au (?:plus|moins)|uniquement|il (?:ne )?faut|ne .{1,30} pas)\b",
    r"必须|必須|不要|不得|不能|永远|总是|最多|最少|至少|只能|禁止|べき|してはいけない|しないで|必ず|以内|以下|以上|のみ",
)
FIRM = _any(  # the part of these that an explanation rarely has
    r"\b(?:must(?: not|n['’]?t)?|never|always|at (?:most|least)|no (?:more|less|fewer|later) than|mandatory|forbidden|non-negotiable"
    r"|not allowed|may not|hard limit)\b|必须|必須|禁止|niemals|jamais|nunca",
)
CHOICE = _any(
    r"^(?:\W|and |so |then |also |please |now |ok(?:ay)? |no,? |just )*(?:use|go with|stick (?:with|to)|prefer|keep|choose|pick|adopt|target|name"
    r"|call|store|put|set|limit|cap|default|pin|treat|stay (?:with|on)|switch|standardi[sz]e|settle|follow|avoid|skip|drop|leave|revert"
    r"|return|expose|host|deploy|base|bump|raise|lower|increase|decrease|reduce|change|stop|no\b|only|forget|scrap|assume|default)\b",
    r"\blet['’]?s (?!see|look|check|try|find|think|start|continue|discuss|talk|wait|move on|test|run|debug|get started|first)\w+",
    r"\b(?:we|i|team|you)(?:['’](?:ll|re|ve|d)| will| are| have| should| shall| want to| would)?(?: all| both| now| just)? (?:use|using|go|going|went|stick|sticking"
    r"|keep|keeping|choose|chose|chosen|decide|decided|agree|agreed|settle|settled|prefer|adopt|adopted|pick|picked|opt|opted|target|standardi[sz]e"
    r"|switch|switching|switched|store|pin|support|deploy|ship|host|drop|dropping|dropped|stay|staying|skip|move|moving|name|call|default)\b",
    r"\b(?:decision|plan|choice|consensus|verdict) (?:is|was)\b|\b(?:it is|it['’]s) (?:decided|settled|agreed)\b|\bit is(?:[.!,]|$| for| then)|\b(?:will|is going to|are going to|gonna|shall) (?:be|use|run|stay|have|get|live|go|keep|become|happen|sit|work)\b|\bshould be\b|['’]s settled\b",
    r"\b(?:going|sticking|settled|settling) (?:with|on)\b|\bi(?:['’]d| would)? (?:want|prefer|like)\b|\bagreed\b|\bdecided\b|\binstead\b|\bgo(?:es)? (?:in|into|to|through|under)\b",
    r"\b(?:wir (?:nehmen|verwenden|nutzen|bleiben)|nimm|verwende|nutze|benutze|entschieden|stattdessen)\b",
    r"\b(?:usa(?:r|mos|remos)?|vamos a usar|usemos|decidimos|hemos decidido|quedamos)\b",
    r"\b(?:utilis(?:e|ons|er|ez)|on (?:utilise|garde|prend|part sur)|nous (?:utilisons|avons décidé)|décidé)\b",
    r"使用|改用|采用|决定|就用|用.{1,20}(?:代替|吧)|使う|使って|使います|にします|に決め|採用|に変更",
)
DECIDED = _any(  # how an assistant states one, as opposed to telling what it does next
    r"\b(?:we|i)(?:['’]ve| have)? (?:decided|chose|chosen|agreed|settled|opted|went with|picked)\b|\b(?:we|we['’]re|i['’]m) (?:going|sticking) with\b"
    r"|\bas (?:we )?(?:agreed|decided|discussed)\b|\b(?:the )?(?:final|chosen|agreed|selected) (?:decision|approach|design|choice|plan|option|solution)\b"
    r"|\bgoing with\b|\bdecision\b|\bdecided\b|\bagreed\b|\bsettled on\b|\bfrom now on\b|\bgoing forward\b",
    r"\b(?:we|we['’]ll|we will|we should|let['’]s) (?:use|keep|go with|stick|store|adopt|target|switch|drop|avoid|need|must|not)\b",
    r"\bi(?:['’]ll| will) (?:use|keep|go with|stick|store|adopt|switch|avoid)\b.*\b(?:instead|rather|because|since|over|so that|throughout|everywhere|as (?:the|our))\b",
    r"\bdesign (?:decision|choice)\b|\bswitch(?:ing|ed) (?:from|over|to|back)\b|entschieden|决定|決定|décidé|decidido",
)
# Words that take something back. The first kind leaves no doubt, the second is also said of what is new.
TURN = _any(
    r"\b(?:actually|change of plans?|chang(?:ed?|ing) (?:my|our|the) (?:minds?|plans?|decision)|(?:on|having) (?:second thoughts?|reflection)|thinking about it"
    r"|scrap|forget|never ?mind|ignore (?:what|that|my)|correction|i was wrong|no,? wait|wait,? no|revis(?:ed|ing|e)|revert(?:ing|ed)?|back to|switch(?:ing|ed)?"
    r"|mov(?:e|ing|ed) (?:away|off|over|from)|migrat(?:e|ing) (?:away|off|from)|instead|no longer|any ?more|any longer|rather than|replac(?:e|ed|es|ing)|drop(?:ping|ped)?|ditch(?:ing|ed)?|abandon(?:ing|ed)?"
    r"|supersed\w+|overrul\w+|overrid\w+|after all|new plan|plans? changed|cancel(?:led|ling)?|undo|decided against|not .{1,30} after all|reconsider(?:ed|ing)?|strike that"
    r"|hold on|taken? back|take(?:s|n)? that back|different(?:ly)? (?:now|approach)|reversed?|reversing|backtrack|swap(?:ped|ping)?|turns out|obsolete|void|out of date|outdated)\b",
    r"^\W*(?:no|nope|wait|hmm|oops|sorry)\b[,.!: —–-]",
    r"\b(?:doch|stattdessen|statt|nicht mehr|planänderung|anstatt|vergiss|zurück zu)\b|\b(?:en lugar de|en vez de|ya no|mejor|cambio de planes|olvida|en realidad)\b",
    r"\b(?:finalement|plutôt|au lieu d|ne .{1,30} plus|changement de plan|oublie|en fait)|改用|改成|换成|不再|而不是|代替|取消|算了|やっぱり|代わりに|に変更|ではなく|やめ",
)
SHIFT = _any(
    r"\b(?:now|from now on|going forward|henceforth|as of (?:now|today|this)|from here on|starting (?:now|today)|update[d]?|make (?:it|that)|bump(?:ed)?|rais(?:e|ed|ing)|lower(?:ed|ing)?|increas(?:e|ed|ing)"
    r"|decreas(?:e|ed|ing)|reduc(?:e|ed|ing)|changed?(?: it| that)? to|as of today|from today|jetzt|ab sofort|ahora|désormais|maintenant)\b|现在|从现在|今後|これから",
)
ALSO = _any(r"\b(?:also|too|as well|additionally|in addition|on top of that|besides|both|auch|también|aussi|également)\b|也|还|さらに")
_THING = r"((?:[^\s,;:.()!?—–]|[.:,/](?=\S))+(?:\s+(?!(?:with|for|to|and|but|because|since|in|on|as|so|any ?more|any longer|after|over|then|we|let|use|anymore|now|is|are|it|at|by|mit|für|con|para|pour|avec)\b)(?:[^\s,;:.()!?—–]|[.:,/](?=\S))+){0,5})"
REJECTED = _any(
    r"\b(?:instead of|rather than|in place of|as opposed to|away from|move off|off of|stop using|no longer (?:use|using|need|want|do|doing|be|go with|going with)|not (?:use|using|going with|doing)|don['’]?t use|won['’]?t (?:use|be using)"
    r"|decided against|against|no more(?! than)|get rid of|(?:forget|scrap|drop(?:ping|ped)?|ditch(?:ing|ed)?|abandon(?:ing|ed)?|cancel|replac(?:e|ing|es)|supersedes?|swap(?:ping)?|overrid(?:e|es|ing)|revers(?:e|es|ing)|undo|never ?mind|ignore)(?: about| out)?(?: what (?:i|we) (?:said|decided|agreed)(?: earlier| before)?(?: about| on)?)?"
    r"|anstatt|statt|en lugar de|en vez de|au lieu d(?:e|u|es)|plutôt que)\s+(?:the |our |my |a |an |any |using |use of |idea of |decision (?:to use |on |about |to )?|plan (?:to use |to )?|earlier |previous |old |der |die |das |el |la |le |les )*" + _THING,
    r"\b(?:switch(?:ing|ed)?|mov(?:e|ing|ed)|chang(?:e|ed|ing)|migrat(?:e|ing|ed)|go(?:ing)?|rais(?:e|ed)|lower(?:ed)?|increased?|reduced?|bump(?:ed)?)\b.{0,40}?\bfrom (?:the |our )*" + _THING + r"\s+(?:to|over to|back to)\b",
    r"(?:,| -| —|;|\() ?(?:and )?not (?:the |a |an |in |with |on |to |by |for )*" + _THING,
    r"\b(?:chose|choose|chosen|pick(?:ed)?|prefer|opted for|going with|go with|use) .{1,40}? (?:over|not) (?:the |a )*" + _THING,
    _THING + r" (?:is|are) (?:out|gone|off the table|obsolete|dead|no longer\b.*|cancelled|dropped|scrapped)\b",
    r"([A-Za-z0-9_.+/-]{2,40})(?:ではなく|の代わりに|をやめ)|(?:而不是|代替|不再使用|不用)\s*([^\s，。；、]{1,20})",
)
POLITE = re.compile(r"^\W*(?:(?:ok|so|also|and|please|then|now)[,:]?\s+)*(?:can|could|would|will)(?:n['’]t)? (?:you|we) (?:please |also |maybe |perhaps |now |just )*", re.IGNORECASE)
TALK = re.compile(
    r"^\W*(?:thanks?|thank you|thx|great|nice|cool|good|looks|sounds|i see|hmm+|interesting|ok(?:ay)?|yes|yep|yeah|no problem|sorry|let me|i['’]?m (?:looking|back|here|not|at|on|happy|curious|reading|testing)|wow|awesome"
    r"|perfect|excellent|well done|that(?:['’]s| is| was)? (?:works|looks|explains|great|fine|good|nice|ok|right|true|weird|odd|strange)|got it|makes sense|hello|hi|hey|good morning|i['’]ll (?:be|take|check|look|test|try|read|let)|one (?:sec|moment)|haha|lol|sure|right|fine|exactly|ah|oh)\b",
    re.IGNORECASE,
)
PROBLEM = _any(
    r"\b(?:broken|does(?:n['’]t| not) (?:work|compile|build|load|start|show)|do(?:n['’]t| not) work|does nothing|crash(?:es|ed|ing)?|bug|buggy|is missing|are missing|too slow|hangs|freezes|leaks?|flaky|regression|wrong result|not working|stopped working|kaputt|funktioniert nicht|no funciona|ne (?:marche|fonctionne) pas)\b|坏了|不工作|動かない|壊れ",
)
HEDGED = _any(
    r"\b(?:maybe|perhaps|might|wonder(?:ing)?|not sure|unsure|what if|possibly|thinking (?:about|of)|consider(?:ing)?|could|one option|option [a-d1-9]\b"
    r"|alternatively|for example|for instance|suppose|hypothetically|in theory|would be|would have|if we (?:were|had|used|use|go|went)|if you (?:want|prefer|like)|i (?:guess|suspect)"
    r"|pros?\b|cons\b|either|whether|undecided|not (?:yet )?decided|haven['’]t decided|tbd|no decision|not settled|up for debate|vielleicht|könnte|quizás|tal vez|peut-être|pourrait)\b|也许|可能|かもしれ",
    r"\b(?:used to|previously|back then|in (?:my|our) (?:last|old|previous) (?:project|job|team)|once upon)\b",
    r"\b(?:docs?|documentation|readme|article|blog(?: post)?|tutorial|stack ?overflow|comment|log|logs|output|page|changelog|commit message) (?:says?|said|claims?|states?|mentions?|suggests?|recommends?|reads?)\b",
)
MOMENTARY = _any(  # asked of the next minute, and over with it
    r"^\W*(?:please |now |then |ok,? |and |let['’]?s |just )*(?:continue|go (?:on|ahead)|proceed|carry on|keep going|run|re-?run|show|explain|tell|describe|read|open|look|check|see|try|have a look|take a look"
    r"|list|print|search|find|grep|start|stop here|wait|think|summari[sz]e|commit|push|pull|review|walk|give|paste|do it|do that)\b",
)
DELIVER = (
    r"add|implement|write|create|build|fix|refactor|rename|remove|delete|migrate|update|document|support|make(?! it\b| that\b)|move|extract|replace|convert|handle|investigate|set up|setup|port|split|clean up|cleanup|"
    r"deprecate|upgrade|benchmark|optimi[sz]e|improve|introduce|generate|design|draft|prepare|publish|release|configure|integrate|wire|hook up|expose|validate|cover|test|measure|profile|translate|"
    r"redesign|rewrite|simplify|merge|backfill|instrument|redo|finish|complete|provide|extend|sort out|look into|figure out|get|address|resolve|schedule|send|ask|bring|double-check|audit|polish|tidy|track down|hook|rotate|archive|import|export|monitor|seed|dockeri[sz]e|automate|revisit|enable|disable|install"
)
REQUEST = _any(
    rf"^\W*(?:(?:please|also|and|now|then|next|first|finally|ok(?:ay)?|so|after that|once .{{3,60}}?,|before .{{3,60}}?,|when .{{3,60}}?,|one more thing|another thing|oh|btw|by the way|btw)[,:]?\s+)*(?:(?:can|could|would|will) you(?: please| also)?\s+|i(?:['’]d| would) (?:like|love|want) (?:you )?to\s+|i (?:want|need) you to\s+|please\s+)?(?:{DELIVER})\b",
    rf"\b(?:we|you|i|someone)(?:['’](?:ll|d))?(?: will| still| also| should| really| probably| would)* (?:need|needs|want|have|ought|like|love)(?: you)? (?:also )?to (?:also )?(?:{DELIVER})\b",
    rf"\b(?:we|you) (?:should|must) (?:also |really |eventually )?(?:{DELIVER})\b|\b(?:can|could|would|will) you (?:please |also |then )*(?:{DELIVER})\b|\bplease (?:also |then )?(?:{DELIVER})\b",
    r"\bi(?:['’]d| would) (?:like|love) (?:to (?:see|have|get)|an?|the)\b|\bwe (?:still |also )*need (?:an?|the|some|more|better)\b|\bit would be (?:great|nice|good) (?:to|if)\b",
    r"\b(?:bitte|kannst du|könntest du)\b|\b(?:por favor|puedes|podrías)\b|\b(?:s['’]il te pla[iî]t|peux-tu|pourrais-tu)\b|请|帮我|ください|してほしい",
)
DEFERRED = _any(
    r"\b(?:don['’]?t forget|do not forget|remember to|remind me|to-?do|still (?:need|needs|have|has|missing|open|outstanding|to do|waiting|pending)|at some point|when you (?:have|get|find) (?:time|a (?:moment|chance|minute))|later(?: on)?[,:]|(?:do|that|this|it) later"
    r"|eventually|follow[- ]?up|open (?:question|request|task|point|item)|outstanding|next (?:step|sprint|week|up)|backlog|afterwards|before (?:we|the|you) (?:release|ship|merge|launch|deploy|demo|finish)|once .{3,60}? (?:is|are) (?:done|finished|merged|in|ready)"
    r"|not (?:yet )?done|pending|keep .{1,30} on (?:the|your) list|on (?:the|your|my) list|for later|waiting (?:for|on)|nicht vergessen|noch offen|später|no olvides|pendiente|más tarde|n['’]oublie pas|plus tard|à faire)\b|别忘|待办|稍后|以后再|忘れず|後で|あとで",
)
CLAIMED = _any(
    r"\b(?:done|completed?|finished|implemented|added|fixed|created|wrote|written|updated|refactored|renamed|removed|deleted|migrated|documented|moved|extracted|replaced|converted|built|shipped|merged|deployed|resolved|set up|upgraded|improved|introduced|all set|in place|now works?|works now|is now|are now|landed|passes|passing)\b|✅|完成|已|erledigt|fertig|hecho|listo|terminé|fait\b|しました|完了",
)
UNDONE = _any(r"\b(?:not|n['’]t|still|yet|will|going to|need|todo|should|must|later|before|once|when|if|failed|cannot|could)\b|\?")
PROPOSAL = _any(r"\b(?:i(?:['’]d| would)? (?:recommend|suggest|propose|go with)|my (?:recommendation|suggestion|proposal)|should (?:we|i)|shall (?:we|i)|do you want (?:me )?(?:to|us)|would you like|how about|proposed?)\b")
AFFIRMED = re.compile(r"^\W*(?:yes|yep|yeah|sure|ok(?:ay)?|agreed|go (?:ahead|for it|with (?:that|it))|do (?:it|that|so)|sounds? good|perfect|approved|lgtm|let['’]s do (?:it|that)|please do|correct|exactly|makes sense|works for me|ja|sí|oui|好|可以|はい|confirmed)\b[^?]{0,60}$", re.IGNORECASE)
WITHDRAWN = _any(r"\b(?:never ?mind|no need (?:to|for)|skip|forget(?: about)?|don['’]?t (?:bother|need)|cancel|drop|scrap|no longer (?:need|want)\w*|hold off on|not needed)\b|不用|算了|取消|やめ")
THIS = _any(r"\b(?:scrap|forget|ignore|cancel|undo|strike|reverse) (?:that|this|it|the last)\b|\bmake (?:it|that)\b|^\W*(?:no,? wait|wait,? no|correction)\b|\bignore (?:what i|my last)|\bactually,? (?:no|make)\b")
VALUE_VERB = _any(r"\s(?:is|are|was|were|has|have|had|be|equals?|runs? (?:on|at|in|every)|listens?|lives? (?:in|at|under)|sits? (?:in|at)|resides?|points? to|starts? (?:at|in|with)|expires?|takes?|costs?|contains?|holds?|uses?|needs?|weighs?|measured|reached|dropped|rose|went|came|stands? at|totals?|counts?|belongs?|comes? (?:from|in)|stored|located|found|found in|defined|expects?|accepts?|allows?|defaults?|supports?|handles?|serves?|returns?|processes|averages?|peaks?)\s|[:=：]\s?|ist|liegt|está|es\s|est\s|是|在|は|です")
