"""How people take something back, and how they say what it was."""

from __future__ import annotations

from functools import lru_cache

from dagentd.model.compaction.local.phrases import any_of

# Words that take something back. The first kind leaves no doubt, the second is also said of what is new.
TURN = any_of(
    r"\b(?:actually|change of plans?|chang(?:ed?|ing) (?:my|our|the) (?:minds?|plans?|decision)|(?:on"
    r"|having) (?:second thoughts?|reflection)|thinking about it"
    r"|scrap|scratch (?:that|the|what|my)|(?<!t )(?<!to )(?<!i )(?<!never )forget|never ?mind|(?:did|does|is|was"
    r"|are)(?:n['’]t"
    r"| not) (?:work(?:ing)? out|a good fit|cut it|good enough|an option)|going back on|going back to"
    r"|(?:ignore|disregard) (?:what|that|my|the)|correction|i was wrong|no,? wait|wait,? no|revis(?:ed|ing|e)"
    r"|revert(?:ing"
    r"|ed)?|back to|switch(?:ing|ed)?"
    r"|mov(?:e|es|ing|ed) (?:away|off|over|from)|migrat(?:e|ing) (?:away|off|from)|instead|no longer"
    r"|any ?more|any longer|rather than|replac(?:e|ed|es|ing)|drop(?:ping|ped)?|ditch(?:ing|ed)?"
    r"|abandon(?:ing|ed)?"
    r"|supersed\w+|overrul\w+|overrid\w+|after all|new (?:plan|decision|choice|direction)|veto(?:ed)?"
    r"|(?:was|is) (?:a mistake|the wrong (?:choice|call))|i know i said|i said .{1,40}\bbut"
    r"|(?:tak(?:es?|ing|en)|took) (?:its|their) place"
    r"|plans? changed|cancel(?:led|ling)?|undo|decided against|not .{1,30} after all"
    r"|re-?(?:consider|decid|evaluat|think|thought|visit)(?:ed|ing|e)?|overturn(?:ed|ing)?|withdraw(?:n|ing)?"
    r"|strike that"
    r"|hold on|taken? back|take(?:s|n)? that back|different(?:ly)? (?:now|approach)|reversed|revers(?:e|ing) (?:the"
    r"|that|this|my|our|course|it)"
    r"|backtrack|swap(?:ped|ping)?|turn(?:s|ed) out|leav(?:e|ing) .{1,30} behind|obsolete|void|out of date"
    r"|outdated|different plan|revisit(?:ed|ing)?|rip(?:ping)? out|give up on|giving up on|throw(?:ing)? (?:away|out)"
    r"|regret\w*|dead end|in favou?r of|better idea|retired?|retiring|off the table|is (?:off|out|history|over"
    r"|dead|gone)"
    r"|(?:did|does|do|is|was|has|could|can)(?:n['’]t| not) (?:survive|working|hold|fit|scale|deliver)|behind us"
    r"|earlier i|(?:bad|poor|wrong|terrible|silly) (?:idea|call|choice|move|decision|pick)|part(?:ing|ed)? ways"
    r"|purg(?:ed?|ing)|(?:takes?|took) over|outgr(?:ew|own)|phas(?:ed?|ing) out|sunset\w*|oust\w*|c[oa]me a?round to"
    r"|contrary to|u-turn|stands? corrected|amend\w*|misspoke"
    r"|correct(?:ing)? (?:myself|that|this)|my mistake|rectif\w+|errat(?:um|a))\b",
    r"^\W*(?:no|nope|nah|wait|oops|sorry)\s?[,.!:—–-]|~~[^~]+~~",
    r"\b(?:doch|stattdessen|statt|nicht mehr|planänderung|anstatt|vergiss|zurück zu)\b|\b(?:en lugar de"
    r"|en vez de|ya no|mejor|cambio de planes|olvida|en realidad)\b",
    r"\b(?:finalement|plutôt|au lieu d|ne .{1,30} plus|changement de plan|oublie|en fait)|改用|改成|换成|不再|而不是"
    r"|代替|取消|算了|やっぱり|代わりに|に変更|ではなく|やめ",
)


@lru_cache(maxsize=4096)
def turns(low: str) -> bool:
    """Asked of each sentence several times, and costly."""
    return TURN.search(low) is not None


SHIFT = any_of(
    r"\b(?:now|from now on|going forward|henceforth|as of (?:now|today|this)|from here on"
    r"|(?:starting|beginning|effective) (?:now|this|next|immediately|today)|update[d]?|make (?:it|that)|bump(?:ed)?"
    r"|rais(?:e|ed|ing)|lower(?:ed|ing)?|increas(?:e|ed|ing)"
    r"|decreas(?:e|ed|ing)|reduc(?:e|ed|ing)|chang(?:e|ed|ing)(?=(?: \S+){0,5}? to\b)|chang(?:e|ing) (?:the|our|my"
    r"|it|that)|(?:has|have|was|been a|is a) changed?|as of today|from today|mov(?:e"
    r"|es|ed|ing) (?:on )?to|jetzt"
    r"|ab sofort|ahora|désormais|maintenant)\b|现在|从现在|今後|これから",
)
ALSO = any_of(
    r"\btoo[.!]?$|\b(?:also|as well|additionally|in addition|on top of that|besides|both|auch|también"
    r"|aussi|également)\b|也|还|さらに",
)
THIS = any_of(
    r"\b(?:scrap|(?<!i )forget|ignore|cancel|undo|strike|reverse) (?:that|this|it|the last)\b|\bmake (?:it"
    r"|that)\b|^\W*(?:no,? wait|wait,? no|correction)\b|\bignore (?:what i|my last)|\bactually,? (?:no"
    r"|make)\b",
)
# Said against what was just stated, with a choice behind it: `no, sqlite`; `that's too heavy. Meilisearch please`
CONTRARY = any_of(
    r"^\W*(?:no|nope|nah|nein|non)\s?[,.!:;—–-]\s?\w",
    r"^\W*(?:that|this|it)(?:['’]s| is| was| would be| seems| sounds| looks)? (?:way |far |really |much |just )*"
    r"(?:too|not)\b",
    r"^\W*(?:not that|rather not|anything but that)\b",
)
_THING = (
    r"((?:[^\s,;:.()!?—–]|[.:,/](?=\S))+(?:\s+(?!(?:with|for|to|and|but|because|since|in|on|as|so"
    r"|any ?more|any longer|after|over|then|we|let|use|anymore|now|is|are|it|at|by|mit|für|con|para|pour"
    r"|avec)\b)(?:[^\s,;:.()!?—–]|[.:,/](?=\S))+){0,5})"
)
_SKIP = (
    r"(?:the |our |my |a |an |any |using |use of |support for |idea of |decision (?:to use |on |about |to )?"
    r"|plan (?:to use |to )?|(?:call|choice|idea) (?:on |about |of |to use |to )|earlier |previous |old "
    r"|in |on |with |der |die |das |el |la |le |les )*"
)
# What is named here was the choice so far ...
REPLACED = any_of(
    r"~~([^~]{1,60})~~",
    _THING + r" ?(?:[-=]>|→) ?\S+ (?:\(|for |in |on )",
    r"\bwhere (?:i|we|it) (?:wrote|said|says|put|had|have) " + _THING,
    r"\bnot? (?:the |our )*" + _THING + r" any ?(?:more|longer)",
    r"\b(?:instead of|going back on|rather than|in place of|as opposed to|away from|move off|off of"
    r"|stop using|no longer \w+(?: with)?|not (?:use|using|going with|doing)|don['’]?t use"
    r"|won['’]?t (?:use|be using)"
    r"|decided against|against|wrong about|give up on|giving up on|rip(?:ping)? out|no more(?! than)|get rid of"
    r"|replac(?:e|ing|es)|supersedes?"
    r"|swap(?:ping)?(?: out)?|anstatt|statt|en lugar de|en vez de|au lieu d(?:e|u|es)|plutôt que)\s+" + _SKIP + _THING,
    r"\b(?:switch(?:ing|ed)?|mov(?:e|ing|ed)|chang(?:e|ed|ing)|migrat(?:e|ing|ed)|go(?:ing)?|rais(?:e|ed)"
    r"|lower(?:ed)?|increased?|reduced?|bump(?:ed)?)\b.{0,40}?\bfrom (?:the |our )*"
    + _THING
    + r"\s+(?:to|over to|back to)\b",
    r"(?:,| -| —|;|\(| and| but) ?(?:and )?not (?:the |a |an |in |with |on |to |by |for )*" + _THING,
    r"\brather\b.{1,60}? than (?:the |our |a |an |with |on |in |using |to )*" + _THING,
    r"\bprefer (?!to\b)(?:\S+ ){1,4}?(?:to|over) (?:the |our |a |an |using )*" + _THING,
    r"\b(?:chose|choose|chosen|pick(?:ed)?|prefer|opted for|going with|go with|use) .{1,40}? (?:over"
    r"|not) (?:the |a )*" + _THING,
    _THING + r" (?:was a mistake|was the wrong \w+|(?:did|does)(?:n['’]t| not) work\b.*|is not an option|(?:got"
    r"|was) (?:vetoed|rejected))",
    _THING + r" (?:is|are) (?:out|gone|off the table|obsolete|dead|no longer\b.*|cancelled|dropped|scrapped|withdrawn"
    r"|revoked|retired|void)\b",
    r"([a-z0-9_.+/-]{2,40})\s?(?:ではなく|の代わりに|をやめ)|(?:而不是|代替|不再使用|不用)\s*([^\s，。；、]{1,20})",
)
REPLACES = any_of(  # looked for first: the patterns above are costly
    r"~~|->|=>|→|\bany ?(?:more|longer)|\bwhere (?:i|we|it)"
    r"|withdraw|revoke|retired|void|mistake|wrong|give|giving|rip|work out|option|veto|reject|instead"
    r"|going back|rather|prefer|place of|opposed to"
    r"|away from"
    r"|off|stop using|no longer|\bnot\b|don['’]?t use|won['’]?t|against|no more|get rid|replac|supersede"
    r"|swap|from\b|over\b| out\b|gone"
    r"|obsolete|dead|cancel|drop|scrap|statt|lugar|vez|lieu|plutôt|ではなく|代わり|やめ|而不是|代替|不再|不用",
)
# ... and here either that or what it was chosen for.
DROPPED = any_of(
    r"\b(?:forget|scrap|scratch|drop(?:ping|ped)?|ditch(?:ing|ed)?|abandon(?:ing|ed)?|cancel|overrid(?:e"
    r"|es|ing)|(?<!the )(?<!our )(?<!a )revers(?:e|es|ing)"
    r"|undo|never ?mind|ignore|purge|part(?:ing)? ways with|phas(?:e|ing) out|oust(?:s|ed)?"
    r"|^bin|vergiss|olvida|oublie)(?: about| out)?"
    r"(?: what (?:i|we) (?:said|decided|agreed)(?: earlier| before)?(?: about| on)?)?\s+" + _SKIP + _THING,
)

# Nobody says this of what he wants to keep; the first line denies, the others judge.
AGAINST = any_of(
    r"\b(?:no|not|never|cannot|too|only|less|worse|nothing|nobody)\b|n['’]?t\b",
    r"\b(?:slow|heavy|expensive|pricey|costly|overkill|deprecated|dead|unmaintained|broken|flaky|buggy|clumsy|awful"
    r"|terrible|ugly|silly|pain|mess|hole|headache|nightmare|hates?|fails?|lacks?|refuses?|bites?|breaks?|chokes?"
    r"|(?:can|must|should|has to|have to|needs to) go)\b",
)


def replaces(low: str) -> bool:
    """Whether it names what was the choice so far."""
    return bool(REPLACES.search(low) and REPLACED.search(low))
