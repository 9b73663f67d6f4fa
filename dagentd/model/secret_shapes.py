"""What secrets look like: keys of providers by their prefixes, values by the names they stand beside."""

from __future__ import annotations

# Bounded on both sides, because a megabyte of letters and dots must not cost its square.
_SOME = r"[A-Za-z0-9_.-]{0,60}"
_OWNER = r"(?:admin|auth|db|database|email|ftp|ldap|login|mail|mongo|mysql|pg|postgres|proxy|redis|root|smtp|ssh|user)"
_USE = r"(?:api|access|account|auth|deploy|encryption|jwt|master|private|session|shared|signing|webhook)"
_WORD = (
    r"(?:secret|passw(?:or)?d|passphrase|passcode|pwd|credential|token(?!i[sz])"
    rf"|{_USE}[_-]?key|{_OWNER}[_-]?pass(?![a-z]))"
)
NAMED = rf"(?<![A-Za-z0-9_./-]){_SOME}?{_WORD}{_SOME}"
_SCHEME = r"\b[a-z][a-z0-9+.-]{1,20}://"
_QUOTED = r"\\{1,7}\"[^\"\\\n]{4,}\\{1,7}\"|\"[^\"\n]{4,}\"|'[^'\n]{4,}'|`[^`\n]{4,}`"
_QUOTE = r"\\{0,7}[\"']?"
_WITH_DIGIT = r"(?=\S{0,200}\d)[^\s\"'=-]\S{5,200}"

_BEGIN = r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
_END = r"-----END (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
_BASE64 = r"[A-Za-z0-9+/=]"
# Between the lines of a key: as JSON, a diff, a quotation, or a tool that numbers lines has them.
_BREAK = r"(?:[\s\"'+,>]|\\[nr]|\d{1,6}[\t:|\u2192])"
_HEADERS = r"(?:\s{1,4}(?:Proc-Type|DEK-Info|Comment|Version): [^\n]{1,100}){0,4}"

# Kind, and what it looks like: all of the match is the secret, or what is named `value`. Where something is named
# `proof`, it is one only if that is there: a pattern that always matches passes over a long text once.
KINDS = (
    ("private key", rf"{_BEGIN}(?:(?!-----BEGIN)[\s\S]){{0,20000}}?{_END}"),
    ("private key", rf"{_BEGIN}{_HEADERS}(?:{_BREAK}{{1,20}}{_BASE64}{{16,}})+"),  # whose end was cut off
    (
        "private key",  # whose beginning was cut off
        rf"(?<!{_BASE64})(?:{_BASE64}{{16,}}+{_BREAK}{{1,20}}+)++(?:{_BASE64}{{1,80}}{_BREAK}{{1,20}})?(?P<proof>{_END})?",
    ),
    ("key", r"\bsk-(?=[A-Za-z_-]{0,60}\d)[A-Za-z0-9_-]{16,}"),  # Anthropic, OpenAI, OpenRouter and others
    ("key", r"\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}|\bwhsec_[A-Za-z0-9+/=]{20,}"),  # Stripe
    ("key", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b"),  # AWS
    ("key", r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})"),
    ("key", r"\bgl(?:pat|dt|rt|cbt|ptt)-[A-Za-z0-9_-]{16,}|\bglsa_[A-Za-z0-9_]{20,}"),  # GitLab, Grafana
    ("key", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bxapp-[A-Za-z0-9-]{10,}"),  # Slack
    ("key", r"\bhooks\.slack\.com/services/[A-Za-z0-9/_-]{20,}|\bdiscord(?:app)?\.com/api/webhooks/[\w/-]{20,}"),
    ("key", r"\bAIza[A-Za-z0-9_-]{30,}|\bya29\.[A-Za-z0-9_-]{20,}|\bGOCSPX-[A-Za-z0-9_-]{20,}"),  # Google
    ("key", r"\b1//0[A-Za-z0-9_-]{30,}"),  # a refresh token of Google's
    ("key", r"\bnpm_[A-Za-z0-9]{30,}|\bpypi-[A-Za-z0-9_-]{40,}|\bhf_[A-Za-z0-9]{30,}|\bdckr_pat_[A-Za-z0-9_-]{20,}"),
    ("key", r"\bgsk_[A-Za-z0-9]{20,}|\bxai-[A-Za-z0-9]{20,}|\br8_[A-Za-z0-9]{20,}"),  # Groq, xAI, Replicate
    ("key", r"\bnvapi-[A-Za-z0-9_-]{20,}|\bpplx-[A-Za-z0-9]{20,}"),  # NVIDIA, Perplexity
    ("key", r"\bhvs\.[A-Za-z0-9_-]{20,}|\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}|\bAGE-SECRET-KEY-1[A-Z0-9]{20,}"),
    ("key", r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|\bdo[opr]_v1_[a-f0-9]{40,}"),  # SendGrid, DigitalOcean
    ("key", r"\blin_api_[A-Za-z0-9]{30,}|\bntn_[A-Za-z0-9]{30,}|\bsecret_[A-Za-z0-9]{40,}"),  # Linear, Notion
    ("key", r"\bdapi[a-f0-9]{32}|\bfigd_[A-Za-z0-9_-]{20,}|\bPMAK-[a-f0-9]{20,}-[a-f0-9]{30,}|\bsbp_[a-f0-9]{40}"),
    ("key", r"\btskey-[a-z]{1,20}-[A-Za-z0-9-]{16,}|\bsntrys_[A-Za-z0-9+/=_]{30,}|\bsq0[a-z]{3}-[A-Za-z0-9_-]{20,}"),
    ("key", r"\bHRKU-[A-Za-z0-9_-]{20,}|\bATATT3[A-Za-z0-9_=-]{20,}|\bSK[a-f0-9]{32}\b|\bkey-[a-f0-9]{32}\b"),
    ("key", r"\b\d{8,10}:AA[A-Za-z0-9_-]{33}"),  # Telegram
    ("key", r"\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}"),  # Discord
    ("key", r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}"),  # a JWT
    ("token", r"(?P<keep>\b(?:[Bb]earer|[Bb]asic)\s{1,3})(?P<value>(?=\S{0,80}[\d=])[A-Za-z0-9._~+/=-]{16,})"),
    ("token", r"(?i:(?P<keep>\bauthorization[\"']?\s?[:=]\s?[\"']?(?:[a-z]{1,20}\s)?)(?P<value>[^\s\"'\[]{10,}))"),
    ("cookie", r"(?i:(?P<keep>\b(?:set-)?cookie[\"']?\s?:\s?[\"']?)(?P<value>[\w.-]{1,60}=[^\n\"']{6,}))"),
    ("password", rf"(?P<keep>{_SCHEME}[^\s:/@\"']{{0,100}}:)(?P<value>[^\s/@\"']{{1,200}})(?=@)"),
    ("token", rf"(?P<keep>{_SCHEME})(?P<value>[A-Za-z0-9_-]{{20,200}})(?=@)"),
    ("token", rf"(?i:(?P<keep>[?&#](?:{NAMED})=)(?P<value>[^\s&#\"'<>]{{6,}}))"),
    ("token", r"(?i:(?P<keep>[?&](?:key|sig|signature|auth)=)(?P<value>(?=\S{0,80}\d)[^\s&#\"'<>]{16,}))"),
    ("password", r"(?P<keep>\blogin\s{1,9}\S{1,100}\s{1,9}password\s{1,9})(?P<value>\S{4,})"),  # in .netrc
    ("password", r"(?P<keep>\bcurl\b[^\n]{0,200}?\s(?:-u|--user)[ =][\"']?[^\s:\"']{1,100}:)(?P<value>[^\s\"']{4,})"),
    ("password", r"(?P<keep>\bmysql(?:dump|admin)?\b[^\n]{0,200}?\s-p)(?P<value>[^\s\"'-]\S{3,})"),
    (
        "password",
        r"(?i:(?P<keep>\b(?:password|passphrase|passcode|token|api key) (?:is|was):? [`\"']?)"
        r"(?P<value>(?=\S{0,60}\d)(?=\S{0,60}[a-z])[^\s/.,;:`\"']{7,}))",
    ),
    ("value", rf"(?i:(?P<keep>(?<!\S)--{_SOME}?{_WORD}[ \t]{{1,3}})(?P<value>{_QUOTED}|{_WITH_DIGIT}))"),
    (
        "value",  # in a shell, or a Dockerfile
        rf"(?i:(?P<keep>\b(?:env|setx?|setenv)(?:[ \t]-\w{{1,4}})?[ \t]{{1,3}}(?P<name>{NAMED})[ \t]{{1,3}})"
        rf"(?P<value>{_QUOTED}|{_WITH_DIGIT}))",
    ),
    ("value", rf"(?i:(?P<keep><(?P<name>{NAMED})>)(?P<value>[^<>\s]{{6,200}})(?=</))"),
    (
        "value",  # {"name": "API_TOKEN", "value": "..."}, also in YAML
        rf"(?i:(?P<keep>\bname{_QUOTE}[ \t]?[:=][ \t]?{_QUOTE}(?P<name>{NAMED}){_QUOTE},?\s{{0,40}}"
        rf"{_QUOTE}value{_QUOTE}[ \t]?[:=][ \t]?)(?P<value>{_QUOTED}|[^\s\"'`,;){{}}\[\]<>\\]{{6,}}))",
    ),
    (
        "value",
        rf"(?i:(?P<keep>(?P<name>{NAMED}){_QUOTE}[ \t]{{0,3}}(?::=|=>|=(?!=)|:(?!:))[ \t]{{0,3}}"
        rf"(?:[|>][+-]?\n[ \t]{{1,20}})?)(?P<value>{_QUOTED}|[^\s\"'`,;){{}}\[\]<>]{{6,}}))",
    ),
    (
        "value",  # AZURE_OPENAI_KEY=...
        r"(?P<keep>(?<![A-Za-z0-9_])(?P<name>[A-Z][A-Z0-9_]{0,60}_KEY)[ \t]?[=:][ \t]?[\"']?)"
        r"(?P<value>(?=\S{0,80}\d)(?=\S{0,80}[A-Za-z])[A-Za-z0-9+/=_-]{20,})",
    ),
)
