"""Where secrets stand, whatever they look like: behind a name, in a command, an address, a file of credentials."""

from __future__ import annotations

# Bounded on both sides, because a megabyte of letters and dots must not cost its square.
_SOME = r"[A-Za-z0-9_.-]{0,60}"
_OWNER = (
    r"(?:admin|auth|become|db|database|email|ftp|key|keystore|ldap|login|mail|mongo|mysql|pg|postgres|proxy|redis|root"
    r"|smtp|ssh|store|sudo|user|vault)"
)
_USE = r"(?:api|access|account|auth|deploy|encryption|jwt|master|priv|private|session|shared|signing|webhook)"
_WORD = (
    r"(?:secret(?!smanager)|passw(?:or)?[dt]|kennwort|passphrase|passcode|pwd|creds|credential|token(?!i[sz])"
    rf"|{_USE}[_-]?key|{_OWNER}[_-]?pass(?![a-z]))"
)
NAMED = rf"(?<![A-Za-z0-9_./-]){_SOME}?{_WORD}{_SOME}"
# A password, for those who write no English.
_ABROAD = ("senha", "contrase\u00f1a", "mot de passe", "пароль", "密码", "密碼", "密钥", "パスワード", "비밀번호")
# One of them is in every such name.
NAME_WORDS = ("secret", "pass", "kennwort", "pwd", "cred", "token", "key", *_ABROAD)
_STRING = (
    r"(?:\"(?=(?:[^\"\\\n]|\\.){4})(?:[^\"\\\n]++|\\.)++\"|'(?=(?:[^'\\\n]|\\.){4})(?:[^'\\\n]++|\\.)++'|`[^`\n]{4,}`)"
)
_STRINGS = rf"{_STRING}(?:\s{{0,9}}[+\\]\s{{0,40}}{_STRING}){{0,20}}"  # one that is written in parts
_QUOTED = rf"\\{{1,7}}\"[^\"\\\n]{{4,}}\\{{1,7}}\"|{_STRINGS}"
_LEAD = r"(?:[bnru@](?=[\"'])|\"\"(?=\")|''(?='))?"  # of a string, as in Python, SQL and TOML
_QUOTE = r"\\{0,7}[\"'`]?"
_PLAIN = r"[^\s\"'`,;){}\[\]<>]{6,}"
_WITH_DIGIT = r"(?=\S{0,200}\d)[^\s\"'=-]\S{5,200}"
_GAP = r"(?:[\s+]|\\[nrt]){1,9}"
_LINE = r"\n\+?"
_ARGUMENT = r"(?:\\{1,7}\"[^\"\\\n]{3,200}\\{1,7}\"|'[^'\n]{3,200}'|\"[^\"\n]{3,200}\"|[^\s\"'$-][^\s\"']{2,200})"

_ITS_OWN = r"(?:(?!&&)[^\n]){0,200}?"  # options of a command, not of the next one
_NO_PORTS = r"(?!(?:[\d.]{7,15}:)?\d{2,5}:\d{2,5}(?:\s|\Z))"  # as `docker run -p` has them

# What stands before a name, the name with its value, and the kind. The first that fits counts.
AFTER_NAME = (
    ("token", r"[?&#]", rf"(?i:{NAMED}=(?P<value>[^\s&#\"'<>]{{6,}}))"),
    ("value", r"(?:^|[\s\"'`+(]|\\[nrt])", rf"(?i:--{_SOME}?{_WORD}[ \t]{{1,3}}(?P<value>{_QUOTED}|{_WITH_DIGIT}))"),
    (
        "value",  # in a shell, or a Dockerfile
        r"(?i:\b(?:define|env|setx?|setenv)(?:[ \t]-\w{1,4})?[ \t]{1,3})",
        rf"(?i:(?P<name>{NAMED})[ \t]{{1,20}}(?P<value>{_QUOTED}|{_WITH_DIGIT}))",
    ),
    (
        "value",  # of PHP's define(), setProperty() and the like
        r"(?i:\b(?:define|put|putenv|set|setenv|setdefault|setproperty|header)\(\s{0,3}[\"'])",
        rf"(?i:(?P<name>{NAMED})[\"']\s{{0,3}},\s{{0,20}}(?P<value>{_QUOTED}))",
    ),
    (
        "value",  # setPassword("...")
        "",
        rf"(?i:(?P<name>{_SOME}?(?:(?:set|with)_?[a-z]{{0,20}}?{_WORD}|passw(?:or)?d))"
        r"\([ ]?(?P<value>\"[^\"\s]{4,200}\"|'[^'\s]{4,200}')\))",
    ),
    (
        "value",  # of Terraform
        r"\bvariable[ ]\"",
        rf"(?i:(?P<name>{NAMED})\"[ ]{{0,3}}\{{(?:{_GAP}(?:type|description|sensitive)\b[^\n]{{0,200}}){{0,4}}"
        rf"{_GAP}default\s{{1,20}}=\s{{1,3}}(?P<value>\"[^\"\n]{{4,}}\"))",
    ),
    ("value", "<", rf"(?i:(?P<name>{NAMED})>(?P<value>[^<>\s]{{4,200}})(?=</))"),
    (
        "value",  # in a row of a table
        r"\|[ ]{0,9}[`*]{0,2}",
        rf"(?i:(?P<name>{NAMED})[`*]{{0,2}}[ \t]{{0,20}}\|[ \t]{{0,3}}`?"
        r"(?P<value>(?=[^\s|]{0,60}\d)[^\s|`]{6,})(?=`?[ \t]{0,20}\|))",
    ),
    (
        "value",  # {"name": "API_TOKEN", "value": "..."}, also in YAML and XML
        rf"(?i:\b(?:name|key){_QUOTE}[ \t]?[:=][ \t]?{_QUOTE})",
        rf"(?i:(?P<name>{NAMED}){_QUOTE},?\s{{0,40}}{_QUOTE}(?:value|content){_QUOTE}[ \t]?[:=][ \t]?"
        rf"(?P<value>{_QUOTED}|[^\s\"'`,;){{}}\[\]<>\\]{{6,}}))",
    ),
    (
        "value",  # of a variable with a type
        "",
        rf"(?i:(?P<name>{NAMED})(?:\[\d{{0,4}}\])?(?:[ ]?:[ ]?&?(?:'\w{{1,9}}[ ])?|[ ])(?:[\w.]{{2,20}}"
        rf"(?:[\[<][\w.]{{2,20}}[\]>])?)?[ ]{{0,3}}=[ ]{{0,3}}{_LEAD}(?P<value>{_STRINGS}))",
    ),
    (
        "value",  # in lines of their own, as YAML has long ones
        "",
        rf"(?i:(?P<name>{NAMED}){_QUOTE}:[ ]{{1,3}}[|>][+-]?\n[ \t]{{1,20}}"
        rf"(?P<value>{_PLAIN}(?:\n[ \t]{{1,20}}{_PLAIN}(?=\s|\Z)(?![ ])){{0,100}}))",
    ),
    (
        "value",
        "",
        rf"(?i:(?P<name>{NAMED}){_QUOTE}\]?\*{{0,2}}[ \t]{{0,20}}(?::=|=>|=(?!=)|:(?!:)|\uff1a)\*{{0,2}}[ \t]{{0,20}}"
        rf"{_LEAD}(?P<value>{_QUOTED}|{_PLAIN}))",
    ),
    (
        "value",  # one of four or five characters
        "",
        rf"(?i:(?P<name>(?<![A-Za-z0-9_./-]){_SOME}?(?:secret|passw(?:or)?d|passphrase|pwd))="
        r"(?P<value>(?=\S{0,4}[\d!#%^*])[^\s\"'`,;(){}\[\]<>&]{4,5})(?![^\s,;&\"']))",
    ),
    (
        "password",
        "",
        rf"(?i:{_SOME}?(?:{'|'.join(_ABROAD)})[\"'`*]{{0,3}}[ ]?(?:[:=\uff1a]|\u662f|\u4e3a|\u70ba)[ *\"'`]{{0,4}}"
        r"(?P<value>(?=[!-~]{0,60}\d)[!-~]{6,}))",
    ),
    (
        "key",
        rf"(?i:{_USE}[ ])",
        r"(?i:(?P<name>key)[\"'`*]{0,3}[ ]?[:=][ *\"'`]{0,4}(?P<value>(?=[^\s.]{0,60}\d)[a-z0-9_./+=~-]{12,}))",
    ),
    (
        "value",  # appKey: ...
        "",
        rf"(?i:(?P<name>{_SOME}?(?:admin|app|application|client|consumer|ingest|licen[cs]e|server|service|subscription)"
        rf"[_-]?key){_QUOTE}[ \t]{{0,3}}[:=][ \t]{{0,3}}{_QUOTE}"
        r"(?P<value>(?=\S{0,80}\d)(?=\S{0,80}[a-z])[a-z0-9+/=]{24,}))",
    ),
    (
        "value",  # AZURE_OPENAI_KEY=...
        "",
        r"(?P<name>[A-Z][A-Z0-9_]{0,60}_KEY)[ \t]?[=:][ \t]?[\"']?"
        r"(?P<value>(?=\S{0,80}\d)(?=\S{0,80}[A-Za-z])(?:base64:)?[A-Za-z0-9+/=_-]{20,})",
    ),
    (
        "password",
        "",
        r"(?i:(?:password|passphrase|passcode|token|key|passwort|kennwort) (?:is|was|ist|lautet|war):? [`\"']?"
        r"(?P<value>(?=\S{0,60}\d)(?=\S{0,60}[a-z])[^\s/.,;:`\"']{7,}))",
    ),
)

# The kind, words of which one is there (in small letters), and what begins with that word.
COMMANDS = (
    ("password", ("http -", "https -"), rf"https? [^\n]{{0,60}}?(?:-a|--auth)[ =]\w{{1,60}}:(?P<value>{_ARGUMENT})"),
    ("password", ("sqlplus",), r"sqlplus\s[^\n]{0,60}?[^\s/]{1,60}/(?P<value>[^\s@/]{3,100})(?=@|\s|\Z)"),
    ("password", ("smbclient", "rpcclient"), rf"\w{{9}}\s[^\n]{{0,60}}?-U[ =]?[^\s%]{{1,60}}%(?P<value>{_ARGUMENT})"),
    ("password", ("net use",), rf"(?i:net use)\s[^\n]{{0,100}}?/user:\S{{1,60}}[ ](?P<value>{_ARGUMENT})"),
    ("password", ("storepass ", "keypass "), rf"(?:store|key)pass[ ](?P<value>{_ARGUMENT})"),
    ("password", ("zip ",), rf"zip [^\n]{{0,40}}?-P[ ]?(?P<value>{_ARGUMENT})"),
    ("password", ("7z ", "7za "), rf"7za? [^\n]{{0,60}}?\s-p(?P<value>{_ARGUMENT})"),
    ("password", ("lftp",), rf"\blftp\b[^\n]{{0,60}}?\s-u[ ]?[^\s,]{{1,60}},(?P<value>{_ARGUMENT})"),
    (
        "password",  # of programs that have an option for it
        ("bcp ", "cqlsh", "cypher-shell", "ipmitool", "mongo", "mosquitto_", "redis-cli", "sqlcmd", "twine "),
        rf"[\w-]{{3,16}}\b{_ITS_OWN}\s-(?:[ap][ =]{{1,3}}|P[ =]{{0,3}}){_NO_PORTS}(?P<value>{_ARGUMENT})",
    ),
    ("password", ("plink", "pscp"), rf"\w{{4,5}}\b[^\n]{{0,200}}?\s-pw\s(?P<value>{_ARGUMENT})"),
    ("password", ("ssh-keygen",), rf"ssh-keygen\b[^\n]{{0,200}}?\s-N\s(?P<value>{_ARGUMENT})"),
    ("password", ("openssl ",), rf"openssl \w{{2,12}} [^\n]{{0,200}}?\s-k\s(?P<value>{_ARGUMENT})"),
    ("password", ("wpa_passphrase ",), rf"wpa_passphrase \S{{1,60}} (?P<value>{_ARGUMENT})"),
    ("password", ("mc alias set ",), rf"mc alias set (?:\S{{1,100}} ){{3}}(?P<value>{_ARGUMENT})"),
    ("password", ("nmcli",), rf"nmcli\b[^\n]{{0,100}}? password (?P<value>{_ARGUMENT})"),
    ("password", ("http-basic.",), rf"http-basic\.\S{{1,60}} \S{{1,60}} (?P<value>{_ARGUMENT})"),
    ("password", ("freerdp",), rf"freerdp\b[^\n]{{0,200}}? /p:(?P<value>{_ARGUMENT})"),
    ("password", ("neo4j_auth",), r"(?i:neo4j_auth)[=:][ ]?[\"']?neo4j/(?P<value>[^\s\"']{4,})"),
    ("value", ("add-mask::",), r"add-mask::(?P<value>[^\s\"'$]{4,})"),
    ("key", ("unseal key",), r"(?i:unseal key) \d{1,2}: (?P<value>[A-Za-z0-9+/=]{40,})"),
    (
        "password",  # after a name, in a call
        ("auth=(", "auth(", "credential(", ".login("),
        r"(?i:[.=a-z]{4,12}\(\s?[\"'][^\"'\n]{1,80}[\"'],\s{0,3})(?P<value>(?=\S{0,60}[\d ])[\"'][^\"'\n]{6,200}[\"'])",
    ),
    ("password", ("htpasswd",), rf"htpasswd\s-\w{{0,6}}b\w{{0,6}}\s(?:\w\S{{0,99}}\s){{1,2}}(?P<value>{_ARGUMENT})"),
    ("password", ("rabbitmqctl",), rf"rabbitmqctl\s(?:add_user|change_password)\s\S{{1,60}}\s(?P<value>{_ARGUMENT})"),
    ("value", ("from-literal",), rf"from-literal[= ][\"']?[\w.-]{{1,60}}=(?P<value>{_ARGUMENT})"),
    ("value", ("secret set",), rf"secret set\b[^\n]{{0,60}}?\s(?:--body|-b)[ =](?P<value>{_ARGUMENT})"),
    ("password", ("securestring",), rf"(?i:securestring)\s{{1,3}}(?:-String\s)?(?P<value>{_ARGUMENT})"),
    ("password", ("identified ",), r"(?i:identified\s(?:with\s\S{1,40}\s)?by)\s(?P<value>'[^'\n]{3,100}')"),
    ("password", ("password '",), r"(?i:password) (?P<value>'[^'\n]{3,100}')"),  # of SQL
    ("password", ("psk=",), r"\bpsk=(?P<value>\"[^\"\n]{8,63}\"|[0-9a-f]{64})"),
    (
        "password",
        ("echo ",),
        rf"\becho (?:-n )?(?P<value>{_ARGUMENT}) ?\| ?(?:sudo -S|(?:docker|podman|nerdctl|skopeo) login|helm registry"
        r"|gh auth|kinit|cryptsetup|(?:sudo )?(?:ch)?passwd)\b",
    ),
)  # fmt: skip

PLACES = (
    (
        "token",
        ("bearer", "basic"),
        r"\b(?i:bearer|basic)(?:\s{1,3}|[ ]\\\n\s{0,20})(?P<value>(?=\S{0,80}[\d=])[A-Za-z0-9._~+/=-]{16,})",
    ),
    (
        "token",
        ("authorization",),
        r"(?i:\bauthorization[\"']?\s?[:=]\s?[\"']?(?:[a-z]{1,20}\s)?(?P<value>[^\s\"'\[]{10,}))",
    ),
    ("cookie", ("cookie",), r"(?i:\bcookie[\"']?\s?:\s?[\"']?(?P<value>[\w.-]{1,60}=[^\n\"']{6,}))"),
    ("cookie", ("curl",), r"curl\b[^\n]{0,300}?\s(?:-b|--cookie)[ =]?[\"']?(?P<value>[\w.-]{1,60}=[^\s\"']{6,})"),
    (
        "password",  # a port is none, also before a path with an @
        ("://",),
        r"(?<=[a-z0-9+.-])://[^\s:/@\"'\[]{0,100}:(?P<value>[^\s/@\"']{1,200}(?=@)|(?!\d{1,5}/)[^\s@\"'<>]{1,200}(?=@[\w.-]))",
    ),
    ("token", ("://",), r"(?<=[a-z0-9+.-])://(?P<value>[A-Za-z0-9_-]{20,200})(?=@)"),
    ("password", ("jdbc:oracle",), r"(?i:jdbc:oracle):\w{1,10}:[^\s/@:\"']{1,100}/(?P<value>[^\s@\"']{1,200})(?=@)"),
    (
        "token",
        ("?key=", "&key=", "?sig=", "&sig=", "?signature=", "&signature=", "?auth=", "&auth=",
         "-signature="),
        r"(?i:[?&-](?:key|sig|signature|auth)=)(?P<value>(?=\S{0,80}\d)[^\s&#\"'<>]{16,})",
    ),
    (
        "password",  # in .netrc, also one in a diff or in JSON
        ("login",),
        rf"login{_GAP}\S{{1,100}}?{_GAP}(?:account{_GAP}\S{{1,100}}?{_GAP})?password{_GAP}(?P<value>[^\s\"\\]{{4,}})",
    ),
    (
        "password",
        ("curl", "etcdctl"),
        r"\b\w{4,7}\b[^\n]{0,300}?\s(?:-[a-zA-Z]{0,8}[uU]|--user|--proxy-user)[ =]?[\"']?"
        r"[^\s:\"']{1,100}:(?P<value>[^\s\"']{3,})",
    ),
    ("password", ("mysql", "mariadb"), rf"\b\w{{5,7}}[a-z-]{{0,12}}\b{_ITS_OWN}\s-p{_NO_PORTS}(?P<value>{_ARGUMENT})"),
    ("password", ("sshpass",), rf"\bsshpass\b[^\n]{{0,60}}?\s-p[ \t]{{0,3}}(?P<value>{_ARGUMENT})"),
    (
        "password",
        ("docker login", "podman login", "nerdctl login", "buildah login", "skopeo login", "registry login", "oc login",
         "cf login", "az login", "acr login"),
        rf"(?:\w{{2,8}}) login\b[^\n]{{0,200}}?\s-p[ =]{{0,3}}(?P<value>{_ARGUMENT})",
    ),
    ("password", ("ldap",), rf"\bldap[a-z]{{3,10}}\b[^\n]{{0,200}}?\s-w[ ]{{1,3}}(?P<value>{_ARGUMENT})"),
    (
        "password",  # of Bundler
        ("contribsys__com",),
        rf"(?i:contribsys__com){_QUOTE}[ \t]{{0,3}}[:=][ \t]{{0,3}}{_QUOTE}(?P<value>[0-9a-f]{{8}}:[0-9a-f]{{8}})",
    ),
    ("password", ("pass:",), r"\bpass:(?P<value>[^\s\"':]{4,})"),  # of openssl
    (
        "password",  # in .pgpass
        (":5432:", ":5433:", ":6432:", ":*:"),
        r":(?:543[23]|6432|\*):[^\s:]{1,60}:[^\s:]{1,60}:(?P<value>[^\s\"]{4,})",
    ),
    *COMMANDS,
    (
        "key",  # of a kubeconfig
        ("client-key-data",),
        r"(?i:client-key-data)[\"']?[ \t]{0,3}[:=][ \t]{0,3}[\"']?(?P<value>[A-Za-z0-9+/=]{8,})",
    ),
    (
        "value",  # of docker's config.json, and of an .npmrc: a name and a password in base64
        ("auth",),
        rf"(?<![A-Za-z0-9])auth{_QUOTE}[ \t]{{0,3}}[:=][ \t]{{0,3}}{_QUOTE}"
        r"(?P<value>(?=[a-z0-9+/]{0,200}[A-Z])(?=[A-Z0-9+/]{0,200}[a-z])[A-Za-z0-9+/]{8,}={0,2})(?![\w.(-])",
    ),
    (
        "password",  # of a YAML file: a word alone may be any
        ("pass", "pw"),
        rf"(?i:(?<![A-Za-z0-9_.$-])(?:pass|pw){_QUOTE}[ \t]{{0,3}}[:=](?![:=])[ \t]{{0,3}})"
        rf"(?P<value>{_QUOTED}|(?=[A-Za-z]{{0,60}}[^A-Za-z\s]){_PLAIN})",
    ),
    (
        "value",  # of a Secret of Kubernetes, as people write it
        ("kind: secret",),
        rf"kind: Secret(?:{_LINE}metadata:(?:{_LINE}[ ]{{1,8}}[^\n]{{1,200}}+){{1,12}}+)?(?:{_LINE}type: [\w./-]+)?"
        rf"{_LINE}(?:data|stringData):(?P<value>(?:{_LINE}[ ]{{1,8}}[\w.-]{{1,100}}: [^\n]{{1,8000}}+){{1,100}}+)",
    ),
    (
        "value",  # and as kubectl does
        ("apiversion: v1",),
        rf"apiVersion: v1{_LINE}data:(?P<value>(?:{_LINE}[ ]{{1,8}}[\w.-]{{1,100}}: [^\n]{{1,8000}}+){{1,100}}+)"
        rf"{_LINE}(?:immutable: \w{{4,5}}{_LINE})?kind: Secret\b",
    ),
    (
        "private key",  # of PuTTY
        ("private-lines: ",),
        r"(?i:private-lines: )\d{1,4}(?P<value>(?:\s{1,4}[A-Za-z0-9+/=]{4,80}(?![\w-]{0,80}:)){1,400})",
    ),
    (
        "private key",  # of OpenVPN, and as RFC 4716 has it
        ("begin openvpn static key", "begin ssh2 encrypted private key"),
        r"(?i:begin [\w ]{18,30}?-{4,5}(?:\s{1,4}Comment: [^\n]{1,100})?)"
        r"(?P<value>(?:\s{1,4}[A-Za-z0-9+/=]{16,80}(?![\w-]{0,80}:)){1,400})",
    ),
    (
        "key",  # of a purse
        ("mnemonic", "seed phrase", "seed_phrase", "recovery phrase"),
        r"(?i:mnemonic|\w{4,8}[ _]phrase)\W{1,6}(?:is\W{1,3})?(?P<value>(?:[a-z]{3,8} ){11,23}[a-z]{3,8})\b",
    ),
    (
        "key",  # of a JSON Web Key; a hash in hexadecimal digits is none
        ('"d"', '"p"', '"q"', '"dp"', '"dq"', '"qi"', '"k"'),
        r"\"\w{1,2}\"\s?:\s?\"(?P<value>(?![0-9a-f]{40,64}\")(?=[A-Za-z_-]{0,80}\d)[A-Za-z0-9_-]{40,})\"",
    ),
)  # fmt: skip

_BEGIN = r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
_END = r"-----END (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
_BASE64 = r"[A-Za-z0-9+/=]"
# Between the lines of a key: as JSON, a diff, a quotation, or a tool that numbers lines has them.
_BREAK = r"(?:[\s\"'+,>]|\\[nr]|\d{1,6}[\t:|\u2192])"
_HEADERS = r"(?:\s{1,4}(?:Proc-Type|DEK-Info|Comment|Version): [^\n]{1,100}){0,4}"

# Not around another one, and not around what is left of that: taking out twice is the same as once.
_WITHIN = r"(?:(?!-----BEGIN|\[redacted private key\])[\s\S])"

LONGEST_KEY = 20_000
WHOLE_KEY = rf"{_BEGIN}{_WITHIN}{{0,{LONGEST_KEY}}}?{_END}"
KEY_WITHOUT_END = rf"{_BEGIN}{_HEADERS}(?:{_BREAK}{{1,20}}{_BASE64}{{16,2000}}){{1,400}}"
KEY_WITHOUT_BEGINNING = (
    rf"(?<!{_BASE64})(?:{_BASE64}{{16,}}+{_BREAK}{{1,20}}+)++(?:{_BASE64}{{1,80}}{_BREAK}{{1,20}})?{_END}"
)
