"""Text as somebody writes it who wants a browser to do something."""

from __future__ import annotations

SCRIPT = "<script>document.title='owned'</script>"
PICTURE = "<img src=x onerror=\"document.title='owned'\">"
DRAWING = (
    "<svg onload=\"document.title='owned'\"><a href=\"javascript:document.title='owned'\"><text>x</text></a></svg>"
)
CLOSING = "</pre></details></article></main><h1>owned</h1><style>*{display:none}</style>"
LINKS = (
    "[one](javascript:document.title='owned') [two](JaVaScRiPt:alert(1)) [three](data:text/html,<script>1</script>) "
    "[four](vbscript:x) [five](file:///etc/passwd) <javascript:document.title='owned'> [six](//evil.example/x) "
    "[seven](&#106;avascript:alert(1)) ![picture](http://evil.example/x.png) "
    "[good](https://example.org/\"onmouseover=\"document.title='owned')"
)
TERMINAL = "\x1b[31mred\x1b[0m \x1b]0;owned\x07 \x1b[2J bell\x07 back\x08 nul\x00"
TURNED = "admin\u202etxt.exe\u2066 \u200f\u061c end"
FENCE = f'```html" onload="x\n{SCRIPT}\n```'
EVERYTHING = "\n\n".join((SCRIPT, PICTURE, DRAWING, CLOSING, LINKS, TERMINAL, TURNED, FENCE))
ONE_LINE = f"{SCRIPT}{PICTURE} {TURNED} \x1b[31m"
