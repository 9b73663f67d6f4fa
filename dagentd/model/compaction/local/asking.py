"""How people ask for something, put it off or take it back, and say that it is done."""

from __future__ import annotations

import re

from dagentd.model.compaction.local.phrases import any_of

POLITE = re.compile(
    r"^\W*(?:(?:ok|so|also|and|please|then|now)[,:]?\s+)*(?:can|could|would|will)(?:n['’]t)? (?:you"
    r"|we) (?:please |also |maybe |perhaps |now |just )*",
)
QUESTION = re.compile(
    r"^\W*(?:why|how|what(?! (?:i|we) )|where|who|which|is|are|does|do(?! not)|did|am|was|were|shall (?:i"
    r"|we)|should (?:i|we))\b(?!['’])",
)
MOMENTARY = any_of(  # asked of the next minute, and over with it
    r"^\W*(?:please |now |then |ok,? |and |let['’]?s |just )*(?:continue|go (?:on|ahead)|proceed|carry on"
    r"|keep going|run|re-?run|show|explain|tell|describe|read|open|look|check|see|try|have a look"
    r"|take a look"
    r"|list|print|search|find|grep|start|stop here|wait|think|summari[sz]e|commit|push|pull|review|walk"
    r"|give|paste|do it|do that)\b",
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
    rf"|want) (?:you )?to\s+|i (?:want|need) you to\s+|(?:please|pls)\s+)?{_NOUN}(?:{DELIVER})\b(?!\s?[:=]"
    rf"|\s->)",
    rf"\b(?:we|you|i|someone)(?:['’](?:ll|d))?(?: will| still| also| should| really| probably"
    rf"| would)* (?:need|needs|want|have|ought|like|love)(?: you)? (?:also )?to (?:also )?(?:{DELIVER})\b",
    rf"\b(?:we|you) (?:should|must) (?:also |really |eventually )?(?:{DELIVER})\b|\b(?:can|could|would"
    rf"|will) you (?:please |also |then )*(?:{DELIVER})\b|\bplease (?:also |then )?(?:{DELIVER})\b",
    r"\bi(?:['’]d| would) (?:like|love) (?:to (?:see|have|get)|an?|the)\b|\b(?:we|i) (?:still |also "
    r"|really )*need (?:an?|the|some|more|better)\b|\bit would be (?:great|nice|good) (?:to|if)\b"
    r"|\bneeds? (?:an?|some|more|better|proper|its own|tests?|docs|documentation)\b|\b(?:is"
    r"|are) still (?:missing|open)\b",
    r"\b(?:bitte|kannst du|könntest du)\b|\b(?:por favor|puedes|podrías)\b|\b(?:s['’]il te pla[iî]t"
    r"|peux-tu|pourrais-tu)\b|请|帮我|ください|してほしい",
)
DEFERRED = any_of(
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
WITHDRAWN = any_of(
    r"\b(?:never ?mind|no need (?:to|for)|skip|forget(?: about)?|don['’]?t (?:bother|need)|cancel|drop"
    r"|scrap|no longer (?:need|want)\w*|hold off on|not needed)\b|不用|算了|取消|やめ",
)
