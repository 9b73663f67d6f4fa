"""How people ask for something, put it off or take it back, and say that it is done."""

from __future__ import annotations

import re

from dagentd.model.compaction.local.phrases import any_of
from dagentd.model.compaction.local.subjects import STOP

_ADVERBS = r"(?:(?:please|also|maybe|perhaps|now|just|then|possibly|kindly|quickly) )*"
# What stands before the verb of an order that is put as a question or a wish.
POLITE = any_of(
    r"^\W*(?:(?:ok|so|also|and|please|then|now|hey|oh|btw|but)[,:]?\s+)*(?:can|could|would|will)(?:n['’]t)? you "
    r"(?:mind (?:if i asked you to )?)?" + _ADVERBS,
    r"\w[,;—–] (?:(?:so|and|but|then|please) )*(?:can|could) you (?!(?:tell|explain|show|see|say)\b"
    r"|[\w ]{1,25}\b(?:it|that|this|them|those|that one)(?: \w+){0,2}\s?\?)" + _ADVERBS,
    r"\b(?:any chance|do you think|is there any way|wonder(?:ing|ed)?|hop(?:e|ing))(?: that| if"
    r"| whether)? you (?:could|can"
    r"|would|might) " + _ADVERBS,
    r"\b(?:great|nice|good|lovely|awesome|cool|helpful|kind|perfect|love it|like it|appreciate it"
    r"|help(?: \w+){0,3}|happy"
    r"|grateful|glad) if (?:you|we) (?:could|can|would|were to) " + _ADVERBS,
    r"\b(?:do me a favou?r and|feel free to|i(?:['’]d| would) (?:like|love|want|need|ask) you to|i (?:need|want) you to"
    r"|may i ask you to|be so kind (?:as to|and)|your (?:next )?(?:job|task) is to) " + _ADVERBS,
    r"(?<!['’]t )(?<!not )(?<!never )(?<!dont )\b(?:need|want|like|love|ask|trust|leave|expect|get|with|count on"
    r"|rely on) you to "
    r"(?!(?:know|be|understand|see|think)\b)" + _ADVERBS,
    r"^\W*(?:and |so |then )?(?:can|could) (?:we|i ask you to|someone|somebody) (?:please |also |maybe |perhaps )*"
    r"(?!(?:use|go|pick|take|choose|try|have|do|make do|live|still|really|trust|assume|say|not)\b)",
    r"^\W*if you (?:could|would|can) |^\W*(?:shouldn|couldn|can)['’]t (?:we|you) |\b(?:would|will"
    r"|are) you (?:be )?(?:so kind"
    r" as to|able to) |^\W*(?:can|could|may) i (?:ask|get|have) you to |\byou (?:could|can|might|may)(?: also"
    r"| maybe| perhaps"
    r"| want to| please)* (?!(?:use|go|pick|take|choose|see|find|also|have|be|do|get|say|assume|forget|drop"
    r"|stop|rip)\b)",
    r"^\W*(?:please |and |then |also |just )*(?:go ahead and|try (?:to|and)|see (?:if|whether) you (?:can"
    r"|could)|see to it that you"
    r"|(?:find|take|make) (?:some |the )?time to|find a way to|think about how to|start (?:to|by)) ",
    r"\b(?:is|would) it (?:be )?possible (?:for you )?to |^\W*why don['’]t you |^\W*may i ask you to ",
    r"\b(?:got|have|has|find|any|enough) (?:the |some |any |a )?(?:time|capacity|bandwidth|cycles|moment|minute|room"
    r"|slot|energy) (?:\w+ )?to " + _ADVERBS,
    r"^\W*(?:would you )?mind (?:taking|doing) (?:this|that)(?: one)?: |^\W*mind if i ask(?:ed)? you to ",
    r"\b(?:possible|nice|great|good|help\w*|appreciate\w*|lovely|grateful|happy|glad|kind)\b[^.?!]{0,50}? (?:if|that"
    r"|when) "
    r"you(?:['’]d)? (?:could |can |would |might |also |please )*(?=\w)",
)
MAY_WE = re.compile(
    r"^\W*(?:(?:ok|so|also|and|please|then|now|hey|oh|but)[,:]?\s+)*(?:can|could|shall) we (?:please )?"
)
# ... behind what is wrong with what there is: `that one is too slow, can we take the other?`
MAY_WE_NOW = re.compile(r"[,;.—–] (?:(?:so|and|but|then|please) )*(?:can|could|shall) we (?:please )?(?=\w)")
OPINION = re.compile(
    r"\bwould you (?:rather |personally |ever )?(?:use|choose|pick|go|recommend|prefer|take|say|suggest|consider)\b"
)
PLEASE = re.compile(r"\w,? (?:please|pls)[.!]*$")
TAKE_IT = re.compile(  # a question behind what is to be done: whether he does it
    r"[,;.—–]\s+(?:can|could|will|would) you [\w ]{1,25}\b(?:it|that|this|that one|this one|those|them)"
    r"(?: \w+){0,2}\s?\?+$"
)
TAG = re.compile(  # a question behind a statement, about nothing else
    r"[,.;]?\s+(?:(?:ok(?:ay)?|alright|all right|please|pls|deal|got it|understood|agreed|clear|yeah|right|cool"
    r"|(?:can|could"
    r"|will|would) you)|(?<=[,.;] )(?:is|does|can|could|will|would|are|do|shall) (?:that|this|it|you|we)(?: (?:do"
    r"|take|look"
    r" into|work|see to|handle|fix|make|agree|ok|okay|fine|clear|good|right|for me|with you|for you|that|this"
    r"|it)){0,3})\s?\?+$"
)
QUESTION = re.compile(  # also without its mark
    r"^\W*(?:(?:so|and|but|wait|hey|hm+|ok)\W+)*(?:(?:why|how|what|where|who|which)\b(?!['’]?s? (?:i|we|you|they|he"
    r"|she|the"
    r"|our|my) )(?!.* is (?:that|to)\b)|(?:does|did)(?:n['’]t)? \w|(?:is|are|was|were)(?:n['’]t)? (?!\w+(?:ed|en)\b"
    r"|very|really"
    r"|ok|fine|not|never|a must|important|strictly)|do you\b|(?:do|am|shall|should|can|could|would"
    r"|will)(?:n['’]t)? (?:the|it|this|that"
    r"|there|we|i|they|our|my|any\w*|some\w*|people)\b|ha(?:s|ve|d) (?:you|we|they|i|any\w*|some\w*)\b|any(?:one"
    r"|body) (?:know"
    r"|ha[sv]e?|got|here|else|seen|tried|using|remember|up|familiar)s?\b|any (?:idea|clue|news|updates?|thoughts?"
    r"|opinions?"
    r"|chance|luck|reason|suggestions?|progress|objections?|questions?|way|hints?|experience)\b)"
)
EXPLAIN = any_of(  # how something is, rather than how it is to be
    r"\b(?:explain|describe|walk me through|what['’]?s the difference|how come)\b",
    r"^\W*(?:(?:and|so|but|ok|hm+),? )*(?:why|how|where|when|what|which \w+)(?:['’]s)? (?:is|are|was|were|do|does|did"
    r"|has|have|causes?|happens|long|many|much|far)\b",
)
MOMENTARY = any_of(  # asked of the next minute, and over with it
    r"^\W*(?:please |now |then |ok,? |and |let['’]?s |just )*(?:continue|go (?:on|ahead)|proceed|carry on"
    r"|keep going|run|re-?run|show|explain|tell|describe|read|open|look|check|see(?! to)|try|have a look"
    r"|take a look|list|print|search|find|grep|start|stop here|wait|think|summari[sz]e|commit|push|pull|review|walk"
    r"|give|paste|do it|do that|remember(?! (?:that|we|to|about) )|imagine|guess|confirm|know|remind|recommend"
    r"|suggest|compare|elaborate|clarify)\b(?! into\b"
    r"| (?:an?|who|how many)\b(?! (?:look|bit|moment|second|sec|minute)))",
)
MOVING = any_of(  # of these, those that also choose: `proceed with Redis for the cache`
    r"^\W*(?:please |now |then |ok,? |and |let['’]?s |just )*(?:continue|go (?:on|ahead)|proceed|carry on"
    r"|keep going|start|try|pull"
    r"|push|give|think|walk|wait|commit|run(?! (?:the|all|it|this|that|my|your|our|an?|tests?|these|those)\b))\b",
)
DELIVER = (
    r"add|implement|write|create|build|fix|refactor|rename|remove|delete|migrate|update|document|support"
    r"|make(?! it\b| that\b)|move|extract|replace|convert|handle|investigate|set up|setup|port|split"
    r"|clean up|cleanup|"
    r"deprecate|upgrade|benchmark|optimi[sz]e|improve|introduce|generate|design|draft|prepare|publish"
    r"|release|configure|integrate|wire|hook up|expose|validate|cover|test|measure|profile|translate|"
    r"redesign|rewrite|simplify|merge|backfill|instrument|redo|finish|complete|provide|extend|sort out"
    r"|look into|figure out|get|address|resolve|schedule|send|ask|bring|double-check|audit|polish|tidy"
    r"|track down|hook|rotate|archive|import|export|monitor|seed|dockeri[sz]e|automate|revisit|enable"
    r"|disable|install"
)
# These are also nouns: `Test coverage must be 80 %` asks for nothing.
_NOUN = (
    r"(?!(?:audit|test|document|export|import|monitor|cover|design|release|schedule|build|support|profile"
    r"|measure|draft|port|hook|seed|archive|update|benchmark|handle|complete|merge|set ?up|cleanup|upgrade"
    r"|install|fix|change)"
    r"s?\s+(?!(?:the|an?|all|our|this|that|it|some|more|every|each|my|both|these"
    r"|those)\b)(?:\S+\s+){0,4}?(?:is|are|was|were|must|should|has|have|will|may|can|cannot|needs?|runs?"
    r"|takes?|lives?|=|->|goes|uses?)(?:\s|$))"
    r"(?!(?:\S+\s+){1,4}?\S*[:=]\s)"
)
REQUEST = any_of(
    rf"^\W*(?:(?:please|also|and|now|then|next|first|finally|ok(?:ay)?|so|after that|once .{{3,60}}?,"
    rf"|before .{{3,60}}?,|when .{{3,60}}?,|one more thing|another thing|oh|btw|by the way"
    rf"|btw)[,:]?\s+)*(?:(?:can|could|would|will) you(?: please| also)?\s+|i(?:['’]d| would) (?:like|love"
    rf"|want) (?:you )?to\s+|(?:i )?(?:want|need) you to\s+|(?:please|pls)\s+)?{_NOUN}(?:{DELIVER})\b(?!\s?[:=]"
    rf"|\s->)",
    rf"\b(?:we|you|i|someone)(?:['’](?:ll|d))?(?: will| still| also| should| really| probably"
    rf"| would)* (?:need|needs|want|have|ought|like|love)(?: you)? (?:also )?to (?:also )?(?:{DELIVER})\b",
    rf"\b(?:we|you) (?:should|must) (?:also |really |eventually )?(?:{DELIVER})\b|\b(?:can|could|would"
    rf"|will) you (?:please |also |then )*(?:{DELIVER})\b|\bplease (?:also |then )?(?:{DELIVER})\b",
    rf"^\W*(?:please |kindly )?do (?:also |please )?(?:{DELIVER})\b",
    r"(?:[,;:] |\bbut )(?:please |kindly )?do (?:also |please )?"
    r"(?!(?:not|never|it|that|this|so|you|we|they|i|the)\b)[a-z]+ \w",
    r"\bi(?:['’]d| would) (?:like|love) (?:to (?:see|have|get)|an?|the)\b(?!.{1,60} (?:to be|on|in|at) )"
    r"|\b(?:we|i) (?:still |also "
    r"|really )*need (?:an?|the|some|more|better)\b|\bit would be (?:great|nice|good) (?:to|if)\b"
    r"|\bneeds? (?:an?|some|more|better|proper|its own|tests?|docs|documentation)\b|\b(?:is"
    r"|are) still (?:missing|open)\b",
    r"\b(?:bitte|kannst du|könntest du)\b|\b(?:por favor|puedes|podrías)\b|\b(?:s['’]il te pla[iî]t"
    r"|peux-tu|pourrais-tu)\b|请|帮我|ください|してほしい",
)
# A word with an article or the like behind it opens an order, whatever it is: `archive the old client`.
_ORDERED = re.compile(
    r"^\W*(?:(?:please|pls|also|and|now|then|next|first|finally|ok(?:ay)?|so|just|yes|lastly|secondly)[,:]?\s+)*"
    r"(?!like|unlike|given|plus|minus|quite|half|even|worth|thanks|maybe|not)([a-z]{3,})(?<!s)(?<!ed)(?<!ing)(?<!ly)"
    r" (?:the|an?|all|our|my|this|these|those|it|them|each|every|both|some|another)\b"
)


def orders(low: str) -> bool:
    found = _ORDERED.match(low)
    return found is not None and found[1] not in STOP


# An order that says what something is to be or to be made with: `build the mail delivery with Mailgun`.
MEANS = re.compile(r"\b(?:the|our|my) (?:[\w-]+ ){1,4}?(?:with|using|via|to be|should be|by|instead of|rather than) \S")
WISHED = any_of(  # put as if it were only weighed
    r"\bcould (?:use (?:an?|some|more)|do with)\b|\bwould be (?:great|nice|good|cool|lovely|helpful"
    r"|awesome) (?:to|if)\b",
)
DEFERRED = any_of(
    r"^\W*(?:[\w'’]+ ){0,6}(?:thing|task|request|wish|wishlist|reminder|ticket|favou?r|idea|item|point|list"
    r"|backlog|next"
    r"|follow-?up|homework|work order|action|chore|assignment|errand|deliverable)s?(?: for \w+| from \w+)?: ",
    r"^\W*(?:and |also |then |please )*(?:after (?:this|that|the|you)|once|as soon as|whenever|later"
    r"|if you (?:get|have|find)|as an?"
    r" (?:follow-?up|next step))\b[^,:]{0,60}, (?!(?:we|i|it|the|they|he|she|there|this|that|our|use|take"
    r"|let['’]?s|all)\b)",
    r"\bnot forget\b|\bthere should be\b|\bbefore (?:launch|release|shipping|merging|going live)\b",
    r"\b(?:could use (?:an?|some|more)|could do with|while you['’]re at it|some(?:one|body) should"
    r"|don['’]?t forget|do not forget|remember to|remind me|to-?do|still (?:need|needs|have|has|missing"
    r"|open|outstanding|to do|waiting|pending)|at some point|when you (?:have|get|find) (?:time"
    r"|a (?:moment|chance|minute))|(?:do|that|this|it) later"
    r"|eventually|follow[- ]?up|open (?:question|request|task|point|item)|outstanding|next (?:step|sprint"
    r"|week|up)|backlog|afterwards|before (?:we|the|you) (?:release|ship|merge|launch|deploy|demo|finish)"
    r"|once .{3,60}? (?:is|are) (?:done|finished|merged|in|ready)"
    r"|not (?:yet )?done|not urgent|low priority|nice to have|pending|keep .{1,30} on (?:the|your) list"
    r"|on (?:the|your|my) list|for later|waiting (?:for|on)|nicht vergessen|noch offen|später|no olvides"
    r"|pendiente|más tarde|n['’]oublie pas|plus tard|à faire)\b|(?:n['’]t|\bnot) .{1,40} yet\b"
    r"|\blater(?: on)?[,:]|别忘|待办|稍后|以后再|忘れず|後で|あとで",
)
PROBLEM = any_of(
    r"\b(?:broken|does(?:n['’]t| not) (?:work|compile|build|load|start|show)|do(?:n['’]t| not) work"
    r"|does nothing|crash(?:es|ed|ing)?|bug|buggy|is missing|are missing|too slow|hangs|freezes|leaks?"
    r"|flaky|regression|wrong result|not working|stopped working|kaputt|funktioniert nicht|no funciona"
    r"|ne (?:marche|fonctionne) pas)\b|坏了|不工作|動かない|壊れ",
)
CLAIMED = any_of(
    r"\b(?:done|completed?|finished|implemented|added|fixed|created|wrote|written|updated|refactored"
    r"|renamed|removed|deleted|migrated|documented|moved|extracted|replaced|converted|built|shipped|merged"
    r"|deployed|resolved|set up|upgraded|improved|introduced|all set|in place|now works?|works now|is now"
    r"|are now|landed|passes|passing)\b|✅|完成|已|erledigt|fertig|hecho|listo|terminé|fait\b|しました|完了",
)
UNDONE = any_of(
    r"\b(?:not|n['’]t|still|yet|will|going to|need|todo|should|must|later|before|once|when|if|failed"
    r"|cannot|could)\b|\?",
)
LEFT = any_of(r"\b(?:still|remain(?:s|ing)?|left to|next|not yet|yet to|to-?do|part(?:ly|ially)|half|except)\b")
WITHDRAWN = any_of(
    r"\b(?:never ?mind|no need (?:to|for)|skip|(?<!never )(?<!t )forget(?: about)?(?! to)|don['’]?t (?:bother|need)"
    r"|cancel|drop"
    r"|scrap|no longer (?:need|want)\w*|hold off on|not needed)\b|不用|算了|取消|やめ",
)
