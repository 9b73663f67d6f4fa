"""Patterns of the keys of providers: by which characters each begins, what follows, and who says so."""

from __future__ import annotations

_W, _U, _H, _B = "[A-Za-z0-9]", "[A-Za-z0-9_-]", "[a-f0-9]", "[A-Za-z0-9+/=]"
_UUID = rf"{_H}{{8}}(?:-{_H}{{4}}){{3}}-{_H}{{12}}"
_DIGIT = r"(?=[A-Za-z_-]{0,60}\d)"  # a name that begins like a key has none

# Whose, how it begins, what follows, and the source: `docs` are the provider's own, else the scanner that looks for it.
# Facts only; the patterns are ours, and take rather too much than too little. Each is tried where one of its beginnings
# is and nowhere else, so that two hundred of them cost a long text no more than two hundred searches for a word.
PROVIDERS: tuple[tuple[str, str, str, str], ...] = (
    # --- models ---
    ("Anthropic, OpenAI, OpenRouter, DeepSeek and others", "sk-", rf"{_DIGIT}{_U}{{16,}}", "docs"),
    ("Groq, xAI, Replicate, Perplexity, NVIDIA", "gsk_ xai- r8_ pplx- nvapi-", rf"{_U}{{20,}}", "trufflehog"),
    ("Hugging Face", "hf_ api_org_", rf"{_W}{{30,}}", "gitleaks"),
    ("Fireworks, Cerebras, Together, Jina", "fw_ csk- tgp_v1_ jina_", rf"{_DIGIT}{_U}{{20,}}", "docs"),
    ("LangSmith, Pinecone, Tavily", "lsv2_pt_ lsv2_sk_ ls__ pcsk_ tvly-", rf"{_U}{{20,}}", "trufflehog"),
    ("Voyage, Firecrawl, E2B", "pa- fc- e2b_", rf"(?:{_H}{{32,}}|{_DIGIT}{_U}{{40,}})", "docs"),
    ("Weights & Biases, Apify", "wandb_v1_ apify_api_", rf"{_U}{{20,}}", "trufflehog"),
    ("Anyscale", "esecret_", rf"{_U}{{20,}}", "docs"),
    ("ElevenLabs", "sk_", rf"{_H}{{40,}}", "trufflehog"),
    # --- clouds ---
    ("AWS", "AKIA ASIA ABIA ACCA", r"[A-Z0-9]{16}\b", "docs"),
    ("AWS", "A3T", r"[A-Z0-9][A-Z2-7]{16}\b", "gitleaks"),
    ("AWS Bedrock", "ABSK bedrock-api-key-", rf"{_B}{{40,}}", "gitleaks"),
    ("Google", "AIza 1//0", rf"{_U}{{30,}}", "docs"),
    ("Google", "ya29. GOCSPX-", rf"{_U}{{20,}}", "docs"),
    ("Alibaba, Tencent", "LTAI AKID", rf"{_DIGIT}{_W}{{16,}}\b", "gitleaks"),
    ("Yandex", "AQVN y0_ YCAJE YCM", rf"{_U}{{20,}}", "gitleaks"),
    ("Yandex", "t1.", rf"{_U}{{8,300}}={{0,2}}\.{_U}{{86}}", "gitleaks"),
    ("DigitalOcean", "dop_v1_ doo_v1_ dor_v1_", rf"{_H}{{40,}}", "docs"),
    ("Heroku", "HRKU-", rf"{_U}{{20,}}", "docs"),
    ("Fly.io", "fo1_ fm1a_ fm1r_ fm1_ fm2_", r"[A-Za-z0-9+/=_,-]{30,}", "gitleaks"),
    ("Fly.io", "FlyV1", r"\s{1,3}[A-Za-z0-9+/=_,-]{20,}", "docs"),
    ("Cloudflare", "cfut_ cfat_ cfk_", rf"{_U}{{20,}}", "docs"),
    ("Cloudflare", "v1.0-", rf"{_H}{{24}}-{_H}{{100,}}", "gitleaks"),
    ("Vercel", "vcp_ vci_ vca_ vcr_ vck_ vercel_blob_rw_", r"[A-Za-z0-9_]{24,}", "docs"),
    ("Netlify, Render", "nfp_ nfc_ nfo_ nfu_ rnd_", rf"{_W}{{28,}}", "docs"),
    ("Scalingo, Pulumi, Prefect", "tk-us- pul- pnu_ pnb_", rf"{_DIGIT}{_U}{{30,}}", "gitleaks"),
    ("Tailscale", "tskey-", r"[a-z]{1,20}-[A-Za-z0-9-]{16,}", "docs"),
    ("Defined Networking", "dnkey-", rf"{_U}{{40,}}", "gitleaks"),
    ("OpenShift", "sha256~", rf"{_U}{{40,}}", "gitleaks"),
    ("Harness", "pat.", rf"{_U}{{20,24}}\.{_W}{{24}}\.{_W}{{20}}", "gitleaks"),
    # --- code ---
    ("GitHub", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"[A-Za-z0-9_]{20,}", "docs"),
    (
        "GitLab",
        "glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glimt- glagent- glsoat- glffct- glwt- gloas- GR1348941",
        rf"{_U}{{16,}}(?:\.{_U}{{2,300}}){{0,2}}", "docs",
    ),
    ("GitLab, a session", "_gitlab_session=", rf"{_U}{{20,}}", "gitleaks"),
    ("Atlassian", "ATATT3 ATCTT3 ATSTT3 ATTA ATBB", r"[A-Za-z0-9_=-]{20,}", "docs"),
    ("Sourcegraph", "sgp_ slk_ sgd_", r"(?=[a-z_]{0,9}[a-fA-F0-9]{16})[A-Za-z0-9_]{40,}", "gitleaks"),
    ("SonarQube", "squ_ sqp_ sqa_", rf"{_H}{{40}}", "docs"),
    ("Buildkite, CircleCI", "bkua_ bkct_ CCIPAT_ CCIPRJ_", r"[A-Za-z0-9_]{30,}", "trufflehog"),
    ("Octopus Deploy", "API-", r"(?=[A-Z]{0,25}\d)[A-Z0-9]{26}\b", "gitleaks"),
    ("LaunchDarkly", "api- sdk-", _UUID, "trufflehog"),
    ("Artifactory", "AKCp cmVmd", rf"{_W}{{55,}}\b", "gitleaks"),
    ("Docker", "dckr_pat_ dckr_oat_", rf"{_U}{{20,}}", "docs"),
    ("npm, crates.io, NuGet", "npm_ cio oy2", rf"{_DIGIT}{_W}{{30,}}\b", "docs"),
    ("PyPI", "pypi-", rf"{_U}{{40,}}", "docs"),
    ("RubyGems, Clojars", "rubygems_ CLOJARS_", rf"{_W}{{40,}}", "gitleaks"),
    ("Packagist", "packagist_", rf"[a-z]{{3}}_{_H}{{40,}}", "docs"),
    ("Terraform, Infracost", "ico-", rf"{_DIGIT}{_W}{{32}}\b", "gitleaks"),
    # --- secrets themselves ---
    ("HashiCorp Vault", "hvs. hvb. hvr.", rf"{_U}{{20,}}", "docs"),
    ("HashiCorp Vault, before 1.10", "s.", rf"(?=[A-Za-z]{{0,23}}\d){_W}{{24}}\b", "gitleaks"),
    ("Doppler", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", r"[A-Za-z0-9_.]{20,}", "docs"),
    ("1Password", "ops_", rf"{_DIGIT}[A-Za-z0-9+/=_-]{{30,}}", "docs"),
    ("1Password", "A3-", r"[A-Z0-9]{6}-[A-Z0-9]{6}-?[A-Z0-9]{5}(?:-[A-Z0-9]{5}){3}", "gitleaks"),
    ("Age", "AGE-SECRET-KEY-1 AGE-SECRET-KEY-PQ-1", r"[A-Z0-9]{20,}", "docs"),
    ("a hash of crypt's", "$1$ $5$ $6$ $y$ $2a$ $2b$ $2y$ $apr1$ $argon2id$ $argon2i$", r"[\w./$=,+]{20,}", "docs"),
    ("a purse's", "xprv yprv zprv tprv", rf"{_W}{{100,}}", "docs"),
    ("Nostr", "nsec1", r"[a-z0-9]{50,}", "docs"),
    (
        "a private key in base64",
        "LS0tLS1CRUdJTiB",
        rf"(?:SU0E|QUklW|FQy|PUEVOU1NI|FTkNSWVBU|EU0E|QR1Ag){_B}{{20,}}",
        "detect-secrets",
    ),
    ("a JWT", "eyJ", rf"(?<!-eyJ){_U}{{8,}}\.{_U}{{8,}}\.{_U}{{4,}}", "docs"),
    ("a JWT in base64", "ZXlK", rf"(?:aGJHY|MGVYQ|cmFXU|aGRXU|cGMzT|emRXS){_B}{{40,}}", "gitleaks"),
    # --- data ---
    ("Supabase", "sbp_ sb_secret_", rf"{_DIGIT}{_U}{{20,}}", "docs"),
    ("PlanetScale", "pscale_tkn_ pscale_pw_ pscale_oauth_", r"[A-Za-z0-9_=.-]{20,}", "docs"),
    ("Neon, Xata", "napi_ npg_ xau_", rf"{_DIGIT}{_W}{{10,}}", "docs"),
    ("Databricks", "dapi dkea", rf"{_H}{{32}}", "docs"),
    ("MongoDB Atlas, Confluent, Elastic", "mdb_sa_sk_ cflt essu_", rf"{_DIGIT}[A-Za-z0-9+/=_-]{{40,}}", "docs"),
    ("ClickHouse", "4b1d", rf"{_W}{{38}}\b", "gitleaks"),
    ("CockroachDB", "CCDB1_", rf"{_W}{{20,30}}_{_W}{{30,}}", "docs"),
    ("Airtable", "pat", rf"{_W}{{14}}\.{_H}{{64}}", "gitleaks"),
    ("Mapbox", "sk.eyJ tk.eyJ", rf"{_U}{{40,300}}\.{_U}{{16,}}", "docs"),
    # --- watching ---
    ("New Relic", "NRAK- NRJS- NRII- NRIQ- NRRA-", r"[A-Za-z0-9-]{19,}", "docs"),
    ("Grafana", "glsa_ glc_ eyJrIjoi", r"[A-Za-z0-9+/=_]{20,}", "gitleaks"),
    ("Sentry", "sntrys_ sntryu_ sntryi_", r"[A-Za-z0-9+/=_]{30,}", "docs"),
    ("PostHog", "phx_ phs_ pha_", r"[A-Za-z0-9_]{30,}", "docs"),
    ("Dynatrace", "dt0", r"[a-z]\d\d\.[A-Za-z0-9-]{8,40}\.[A-Z0-9]{60,}", "docs"),
    ("Honeycomb, Axiom", "hcaik_ hcaic_ hcalk_ hcamk_ xaat- xapt-", r"[A-Za-z0-9-]{32,}", "docs"),
    # --- talking ---
    (
        "Slack", "xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xoxe.xoxb- xoxe.xoxp- xapp-",
        r"[A-Za-z0-9%+/=-]{10,}", "docs",
    ),
    ("Slack", "hooks.slack.com/", r"(?:services|workflows|triggers)/[A-Za-z0-9/_-]{20,}", "docs"),
    ("Discord", "discord.com/api/webhooks/ discordapp.com/api/webhooks/", r"[\w/-]{20,}", "docs"),
    ("Microsoft Teams", "webhook.office.com/webhookb2/", r"[\w@/-]{40,}", "gitleaks"),
    ("Zapier", "hooks.zapier.com/hooks/catch/", r"[\w/]{8,}", "trufflehog"),
    ("SendGrid", "SG.", rf"{_U}{{16,200}}\.{_U}{{16,}}", "docs"),
    ("Twilio", "SK", rf"{_H}{{32}}\b", "docs"),
    ("Mailgun", "key- pubkey-", rf"{_H}{{32}}\b", "gitleaks"),
    ("Brevo, MailerSend", "xkeysib- xsmtpsib- mlsn.", r"[a-zA-Z0-9-]{40,}", "gitleaks"),
    ("Resend", "re_", r"(?=[A-Za-z_]{0,30}\d)[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}", "docs"),
    ("Intercom", "dG9r", rf"(?=[A-Za-z+/]{{0,60}}\d){_B}{{50,}}", "trufflehog"),
    ("Facebook, Instagram", "EAA IGQV", rf"{_DIGIT}{_W}{{60,}}", "gitleaks"),
    ("Twitter", "AAAAAAAAAAAAAAAAAAAAA", r"[A-Za-z0-9%]{30,}", "gitleaks"),
    # --- money ---
    (
        "Stripe and those who copied it",
        "sk_live_ sk_test_ sk_prod_ sk_dev_ sk_org_live_ sk_org_test_ rk_live_ rk_test_ rk_prod_ pk_live_ pk_test_",
        rf"{_W}{{10,}}", "docs",
    ),
    ("Stripe", "whsec_", rf"{_B}{{20,}}", "docs"),
    ("Square", "sq0atp- sq0csp- sq0idp-", rf"{_U}{{20,}}", "gitleaks"),
    ("Square", "EAAA", rf"{_U}{{50,}}", "gitleaks"),
    ("Braintree", "access_token$production$ access_token$sandbox$", rf"[a-z0-9]{{10,30}}\${_H}{{32}}", "trufflehog"),
    ("Plaid", "access-sandbox- access-development- access-production-", _UUID, "gitleaks"),
    ("Razorpay", "rzp_live_ rzp_test_", rf"{_W}{{14,}}", "docs"),
    ("Flutterwave", "FLWSECK_TEST- FLWSECK-", rf"{_W}{{12,}}", "gitleaks"),
    ("Mollie, Lob", "live_ test_", rf"{_DIGIT}{_W}{{30,}}\b", "gitleaks"),
    ("EasyPost", "EZAK EZTK", rf"{_W}{{50,}}\b", "gitleaks"),
    ("Shippo, Duffel", "shippo_live_ shippo_test_ duffel_live_ duffel_test_", rf"{_U}{{40,}}", "gitleaks"),
    ("Shopify", "shpat_ shpca_ shppa_ shpss_ shpua_ shptka_", rf"{_W}{{32,}}", "docs"),
    # --- work ---
    ("Linear", "lin_api_ lin_oauth_", rf"{_W}{{30,}}", "docs"),
    ("Notion", "ntn_", rf"{_W}{{30,}}", "docs"),
    ("Notion", "secret_", rf"{_W}{{40,}}", "gitleaks"),
    ("Figma", "figd_ figu_ figo_", rf"{_U}{{20,}}", "docs"),
    ("Postman", "PMAK- PMAT-", r"[A-Za-z0-9-]{26,}", "docs"),
    ("HubSpot", "pat-na1- pat-na2- pat-eu1- pat-ap1-", r"[A-Fa-f0-9-]{36}", "docs"),
    ("Asana", "0/ 1/ 2/", rf"\d{{10,}}(?:/\d{{10,}})?:{_W}{{32,}}", "trufflehog"),
    ("ClickUp", "pk_", r"\d{5,12}_[A-Z0-9]{32}", "trufflehog"),
    ("Dropbox", "sl.", rf"(?:u\.)?{_DIGIT}{_U}{{60,}}", "gitleaks"),
    ("Contentful, Typeform, ReadMe, Frame.io", "CFPAT- tfp_ rdme_ fio-u-", r"[A-Za-z0-9_=.-]{40,}", "gitleaks"),
    ("Adobe, Intra42", "p8e- s-s4t2ud- s-s4t2af-", rf"{_DIGIT}{_W}{{16,}}", "gitleaks"),
    ("Settlemint", "sm_aat_ sm_pat_ sm_sat_", rf"{_W}{{16,}}", "gitleaks"),
    ("Trigger.dev, Inngest, Stytch", "tr_dev_ tr_prod_ tr_pat_ signkey-prod- signkey-test- secret-live- secret-test-",
     rf"{_DIGIT}{_U}{{20,}}", "docs"),
    ("Cal.com, Nylas, Ory", "cal_live_ cal_test_ nyk_v0_ ory_pat_ ory_at_", rf"{_U}{{20,}}", "docs"),
)  # fmt: skip

# What a key holds in its middle, after how many characters that may be, and the whole of it.
INSIDE: tuple[tuple[str, str, tuple[int, ...], str, str], ...] = (
    ("Terraform Cloud", ".atlasv1.", (14,), rf"{_W}{{14}}\.atlasv1\.[A-Za-z0-9_=-]{{20,}}", "docs"),
    ("Telegram", ":AA", (8, 9, 10), r"\d{8,10}:AA[A-Za-z0-9_-]{33}", "docs"),
    ("Azure AD", "Q~", (4,), r"[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34}", "gitleaks"),
    ("Azure DevOps", "AZDO", (76,), r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}", "docs"),
    ("Azure", "JQQJ99", (52,), r"[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{16,}", "docs"),
    ("New Relic", "NRAL", (36, 32), rf"{_H}{{32,36}}(?:FFFF)?NRAL\b", "docs"),
    ("Mailchimp", "-us", (32,), rf"{_H}{{32}}-us\d{{1,2}}\b", "gitleaks"),
    ("MaxMind", "_mmk", (36,), r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk\b", "gitleaks"),
)

# Without any word to look for: tried along the whole text, so it begins with what is rare.
DISCORD = rf"\b[MNO]{_U}{{23,27}}\.{_U}{{6}}\.{_U}{{27,}}"
