"""Redaction: secrets go, whatever they are written in; ordinary text, code and figures stay."""

from __future__ import annotations

import base64
import json
import sys
import time
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dagentd.model.query import Query, safe_snippet
from dagentd.model.redaction import redacted, redacted_value
from dagentd.model.secret_shapes import INSIDE, PROVIDERS
from tests.model.compaction.checkpoints_of import JSON
from tests.patience import patience

SECRET = "q7Zk2VxW9tB4nM8s"
_LONG = SECRET * 3
_HEX = "0123456789abcdef"
_ID = "123e4567-e89b-12d3-a456-426614174000"
_PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{_LONG}\n{_LONG}\n{SECRET}\n-----END RSA PRIVATE KEY-----"

KEYS = {
    "Anthropic": "sk-ant-api03-" + _LONG,
    "OpenAI": "sk-proj-" + _LONG,
    "Stripe": "sk_live_" + SECRET,
    "Stripe hook": "whsec_" + _LONG,
    "AWS": "AKIA" + "IOSFODNN7EXAMPLQ",
    "GitHub": "ghp_" + _LONG[:36],
    "GitHub, fine-grained": "github_pat_11" + _LONG,
    "GitLab": "glpat-" + SECRET + "abcd",
    "Slack": "xoxb-1234567890-" + SECRET,
    "Slack hook": "https://hooks.slack.com/services/T0AAAAAAA/B0BBBBBBB/" + SECRET + "abcdefgh",
    "Google": "AIza" + _LONG[:35],
    "npm": "npm_" + _LONG[:36],
    "PyPI": "pypi-AgEIcHlwaS5vcmc" + _LONG,
    "Hugging Face": "hf_" + _LONG[:34],
    "SendGrid": f"SG.{SECRET}abcdef.{_LONG[:43]}",
    "Google, OAuth": "GOCSPX-" + _LONG[:28],
    "Google, refresh": "1//0g" + _LONG,
    "Grafana": f"glsa_{_LONG[:32]}_abcdef12",
    "Linear": "lin_api_" + _LONG[:40],
    "Notion": "ntn_" + _LONG[:46],
    "NVIDIA": "nvapi-" + _LONG,
    "Databricks": "dapi" + "0123456789abcdef" * 2,
    "Postman": f"PMAK-{'0123456789abcdef' * 2}-{'0123456789abcdef' * 2}",
    "Telegram": "123456789:AA" + _LONG[:33],
    "Discord": f"MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.{_LONG[:27]}",
    "Twilio": "SK" + "0123456789abcdef" * 2,
    "DigitalOcean": "dor_v1_" + "0123456789abcdef" * 4,
    "a JWT": f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.{SECRET}",
    "Slack, a browser's": f"xoxc-1234567890-1234567890-{SECRET}",
    "Slack, a cookie's": f"xoxd-{SECRET}%2B{SECRET}%3D",
    "Stripe, an organisation's": f"sk_org_live_{_LONG}",
    "GitLab, a feed's": f"glft-{SECRET}abcd",
    "GitLab, an agent's": f"glagent-{_LONG}",
    "GitLab, routable": f"glpat-{SECRET}abcdefghijk.01.{SECRET[:9]}",
    "Vault, a batch's": f"hvb.AAAA{_LONG}",
    "Terraform Cloud": f"abcdefghij1234.atlasv1.{_LONG}",
    "Honeycomb, classic": f"hcaic_{_LONG}",
    "Asana": f"1/1200123456789012:{_LONG[:32]}",
    "New Relic": f"NRAK-{SECRET.upper()}ABCDEFGHIJK",
    "Fly.io": f"FlyV1 fm2_{_LONG}",
    "Fly.io, an older one": f"fo1_{_LONG[:43]}",
    "Supabase": f"sb_secret_{SECRET}_abcdefgh",
    "PlanetScale": f"pscale_tkn_{_LONG[:43]}",
    "Doppler": f"dp.pt.{_LONG[:43]}",
    "Doppler, a service's": f"dp.st.dev.{_LONG[:43]}",
    "1Password": f"ops_eyJzaWduSW5BZGRyZXNzIjoi{_LONG}",
    "LangSmith": f"lsv2_pt_{'0123456789abcdef' * 2}_0123456789",
    "Pinecone": f"pcsk_{_LONG}",
    "PostHog": f"phx_{_LONG}",
    "Sentry": f"sntryu_{'0123456789abcdef' * 4}",
    "Bitbucket": f"ATBB{_LONG[:28]}ABCDEF12",
    "Cloudflare": f"cfut_{_LONG}",
    "Azure AD": f"abc8Q~{_LONG[:34]}",
    "Azure DevOps": f"{(_LONG * 2)[:76]}AZDO4abc",
    "Mailchimp": f"{'0123456789abcdef' * 2}-us14",
    "Airtable": f"pat{SECRET[:14]}.{'0123456789abcdef' * 4}",
    "Resend": f"re_{SECRET[:8]}_{_LONG[:24]}",
    "Dynatrace": f"dt0c01.ABCDEFGHIJKLMNOPQRSTUVWX.{'ABCDEFGH23456789' * 4}",
    "HubSpot": "pat-na1-123e4567-e89b-12d3-a456-426614174000",
    "Shopify": f"shpat_{'0123456789abcdef' * 2}",
    "Plaid": "access-sandbox-123e4567-e89b-12d3-a456-426614174000",
    "Tailscale": f"tskey-auth-{SECRET}-{SECRET}",
    "a key in base64": "LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQo" + _LONG,
    "Docker": f"dckr_pat_{_LONG[:27]}",
    "Pulumi": f"pul-{'0123456789abcdef' * 2}01234567",
    "CircleCI": f"CCIPAT_{SECRET}_{_LONG}",
    "Vercel": f"vcp_{_LONG}",
    "Yandex": f"t1.9euelZqKx{SECRET}.{(_LONG * 3)[:86]}",
    "an old Vault's": f"s.{_LONG[:24]}",
    "Adafruit": f"aio_{_LONG[:28]}",
    "Aikido": f"AIK_SECRET_{_LONG}",
    "Aiven": f"AVNS_{_LONG[:19]}",
    "Alibaba, for a while": f"STS.{_LONG[:24]}",
    "Asaas": f"$aact_prod_{_LONG}",
    "Astra": f"AstraCS:{_LONG[:24]}:{_HEX * 4}",
    "Authress": f"sc_abcdef1234.ab12.acc_abcdefghij12.{_LONG}",
    "AWS AppSync": f"da2-{_LONG[:26].lower()}",
    "AWS, its marketplace": "amzn.mws.123e4567-e89b-12d3-a456-426614174000",
    "Azure, of 512 bits": f"{(_LONG * 2)[:76]}+ASt{_LONG[:5]}A==",
    "Azure Cosmos DB": f"{(_LONG * 2)[:76]}ACDb{_LONG[:5]}Q==",
    "Azure, of 256 bits": f"{_LONG[:33]}+ASbB{_LONG[:5]}=",
    "Azure IoT": f"{_LONG[:33]}AIoTB{_LONG[:5]}=",
    "Azure Functions": f"{_LONG[:44]}AzFu{_LONG[:5]}A==",
    "Azure Search": f"{_LONG[:42]}AzSeA{_LONG[:5]}",
    "Azure, to cache": f"{_LONG[:33]}AzCaB{_LONG[:5]}=",
    "Baidu": f"bce-v3/ALTAK-{_LONG[:21]}/{(_HEX * 3)[:40]}",
    "Brave": f"BSA{_LONG[:28]}",
    "Buildkite": f"bkaj_{_LONG * 2}",
    "Canva": f"cnvca{_LONG}",
    "Cloudsmith": f"csa_{(_HEX * 2)[:30]}{_LONG[:6]}",
    "ConfigCat": f"configcat-sdk-1/{_LONG[:22]}/{_LONG[:22]}",
    "Context7": "ctx7sk-123e4567-e89b-12d3-a456-426614174000",
    "dbt": f"dbtu_{_LONG[:36]}",
    "Deno": f"ddp_{_LONG[:36]}",
    "Devin": f"apk_user_{_LONG}==",
    "Django": f"django-insecure-{_LONG}!$",
    "Docker, a swarm's": f"SWMTKN-1-{(_HEX * 4)[:50]}-{(_HEX * 2)[:25]}",
    "Exoscale": f"EXO{_LONG[:24]}",
    "Firebase": f"AAAA{_LONG[:7]}:APA91b{(_LONG * 3)[:134]}",
    "GC Notify": f"gcntfy-live-{_ID}-{_ID}",
    "Gemini": f"AQ.Ab8RN6{_LONG[:44]}",
    "GoCardless": f"live_{_LONG[:18]}-{SECRET[:10]}_{SECRET[:10]}",
    "Harness, a service's": f"sat.{_LONG[:22]}.{_HEX}{_HEX[:8]}.{_LONG[:20]}",
    "k3s": f"K10{_HEX * 4}::server:{_HEX * 2}",
    "LinkedIn": f"WPL_AP1.{SECRET}.abcdef==",
    "Mercury": f"mercury_production_wma_{_LONG}_yrucrem",
    "n8n": f"n8n_api_{_LONG}",
    "OneSignal": f"os_v2_app_{(_LONG * 3)[:103].lower()}",
    "Onfido": f"api_live.{_LONG}",
    "Paddle": f"pdl_live_apikey_{_LONG[:26].lower()}_{_LONG[:22]}_abc",
    "Pinterest": f"pina_{_LONG}",
    "Polar": f"polar_oat_{_LONG}",
    "Rootly": f"rootly_{_HEX * 4}",
    "RunPod": f"rpa_{_LONG[:46]}",
    "Salesforce": f"00D5g000004abcd!{(_LONG * 2)[:96]}",
    "Snyk": f"snyk_uat.{_HEX[:8]}.{_LONG}",
    "WakaTime": f"waka_{_ID}",
    "Zoho": f"1000.{_HEX * 2}.{_HEX * 2}",
    "AWS, from its console": f"AKIA{'IOSFODNN7EXAMPLQ'},{_LONG[:40]}",
    "GitHub, in base64": base64.b64encode(f"ghp_{_LONG[:36]}".encode()).decode().rstrip("="),
    "Zuplo": f"zpka_{_HEX * 2}_{_HEX[:8]}",
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_keys_of_providers_go(key: str) -> None:
    for around in ("The thing is {}.", "{}", "curl -u {}: x", '["{}"]', "`{}`", "thing\n{}\nend", "密钥{}已泄露"):
        found = redacted(around.format(key))
        assert key[-12:] not in found and "[redacted" in found, around


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_an_excerpt_has_no_half_of_a_key(key: str) -> None:
    """Cut first, neither end would be known by any pattern."""
    query = Query("needle")
    for around in range(0, 360, 24):
        for text in (
            f"needle {'a ' * (around // 2)}{key} {'z ' * 300}",
            f"{'a ' * 300}{key} {'z ' * (around // 2)}needle",
        ):
            found = safe_snippet(text, query)
            assert "needle" in found and key[-12:] not in found and key[:12] not in found


WRITTEN = {
    "an env file": f"DB_PASSWORD={SECRET}",
    "an env file, in letters": "DB_PASSWORD=correcthorsebattery",
    "export": f"export GITHUB_TOKEN={SECRET}",
    "export, quoted": f"export GITHUB_TOKEN='{SECRET}'",
    "JSON": json.dumps({"apiKey": SECRET, "port": 1}),
    "JSON, escaped": json.dumps(json.dumps({"client_secret": SECRET})),
    "YAML": f"database:\n  password: {SECRET}\n  port: 5432",
    "YAML, quoted": f'password: "{SECRET}"',
    "YAML, in letters": "password: correcthorsebattery",
    "Python": f"API_KEY = '{SECRET}'",
    "JavaScript": f'const clientSecret = "{SECRET}";',
    "JavaScript, template": f"const authToken = `{SECRET}`;",
    "Go": f'token := "{SECRET}"',
    "Ruby": f':password => "{SECRET}"',
    "a call": f'connect(user="me", password="{SECRET}")',
    "an option": f"mysql --password={SECRET} db",
    "an option, apart": f"deploy --token {SECRET} --now",
    "a header": f"X-Api-Key: {SECRET}",
    "a bearer": f"Authorization: Bearer {SECRET}",
    "a scheme of its own": f"Authorization: token {SECRET}",
    "no scheme": f"authorization: {SECRET}",
    "basic": "Authorization: Basic dXNlcjpxN1prMlZ4Vzl0QjRuTThz",
    "a cookie": f"Cookie: session={SECRET}; theme=dark",
    "a URL": f"postgres://me:{SECRET}@db.internal:5432/app",
    "a URL without a password": f"https://{_LONG}@github.com/me/it.git",
    "a query": f"https://x.test/a?b=1&access_token={SECRET}&c=2",
    "an Azure connection": f"AccountName=me;AccountKey={_LONG}==;EndpointSuffix=core",
    "a short name": f"DB_PASS={SECRET}",
    "a short name, in camels": f'dbPass: "{SECRET}"',
    "a key to sign with": f"SIGNING_KEY={SECRET}",
    "some key": f"AZURE_OPENAI_KEY={_LONG}",
    "TOML": f'[db]\npassword = "{SECRET}"',
    "YAML, a block": f"password: |\n  {SECRET}\nport: 5432",
    "YAML, name and value": f"- name: DB_PASSWORD\n  value: {SECRET}",
    "JSON, name and value": json.dumps([{"name": "API_TOKEN", "value": SECRET}]),
    "JSON, escaped twice": json.dumps(json.dumps(json.dumps({"password": SECRET}))),
    "an option, quoted": f"deploy --api-key '{SECRET}' --now",
    "a Dockerfile": f"ENV API_KEY {SECRET}",
    "fish": f"set -x API_KEY {SECRET}",
    "XML": f"<password>{SECRET}</password>",
    "curl": f"curl -s -u user:{SECRET} https://x.test",
    "mysql": f"mysql -uroot -p{SECRET} shop",
    "prose": f"The password is {SECRET}, by the way.",
    "a fragment": f"https://x.test/a#access_token={SECRET}&c=2",
    "npmrc": f"//registry.npmjs.org/:_authToken={SECRET}",
    "netrc": f"machine x.test login me password {SECRET}",
    "kubeconfig": f"    client-key-data: {_LONG}==",
    "docker's config": json.dumps({"auths": {"x.test": {"auth": "dXNlcjpxN1prMlZ4Vzl0QjRuTThz"}}}),
    "docker's config, in letters": '"auth": "dXNlcjpxTlprVnhXdEJuTXM="',
    "npmrc, older": "//registry.npmjs.org/:_auth=dXNlcjpxN1prMlZ4Vzl0QjRuTThz",
    "YAML, pass": f"smtp:\n  user: me\n  pass: {SECRET}\n  port: 5432",
    "YAML, of many letters": f"consumer_key: {_LONG}",
    "JSON, a key of an application": json.dumps({"appKey": _LONG, "port": 1}),
    "a header, of an application": f"DD-APPLICATION-KEY: {_LONG[:40]}",
    "creds": f"creds: {SECRET}",
    "Bundler": "BUNDLE_ENTERPRISE__CONTRIBSYS__COM=a7fa2c19:b4c8d1e7",
    "YAML, pass, quoted": "pass: 'correcthorsebattery'",
    "sshpass": f"sshpass -p {SECRET} ssh user@db.internal",
    "sshpass, quoted": f"sshpass -p '{SECRET}' ssh user@db.internal",
    "docker login": f"docker login -u user -p {SECRET} registry.x.test",
    "curl, quoted": f"curl -fsSL --user 'user:{SECRET}' https://x.test",
    "curl, in one word": f"curl -uuser:{SECRET} https://x.test",
    "a URL, with a slash": f"postgres://user:ab/{SECRET}@db.internal:5432/app",
    "JDBC, Oracle": f"jdbc:oracle:thin:user/{SECRET}@//db.internal:1521/app",
    "JDBC, SQL Server": f"jdbc:sqlserver://db.internal:1433;user=user;password={SECRET};encrypt=true",
    "JDBC, in the query": f"jdbc:mysql://db.internal/app?user=user&password={SECRET}",
    "redis-cli": f"redis-cli -h db.internal -a {SECRET} ping",
    "openssl": f"openssl rsa -in key.pem -passin pass:{SECRET}",
    "pgpass": f"db.internal:5432:app:user:{SECRET}",
    "NuGet": f'<add key="ClearTextPassword" value="{SECRET}" />',
    "a JSON Web Key": json.dumps({"kty": "EC", "d": _LONG}),
    "a line break as JSON writes it": json.dumps(f"first\nghp_{_LONG[:36]}"),
    "Heroku": "HEROKU_API_KEY=01ba4719-f796-5463-e362-1d78ed41415e",
    "netrc, with an account": f"machine x.test login user account a password {SECRET}",
    "netrc, in JSON": json.dumps(f"machine x.test\nlogin user\npassword {SECRET}\n"),
    "netrc, in a diff": f"+machine x.test\n+login user\n+password {SECRET}\n",
    "pgpass, of any host": f"*:*:*:user:{SECRET}",
    "pgpass, of a pool": f"db.internal:6432:app:user:{SECRET}",
    "curl, flags together": f"curl -sSu user:{SECRET} https://x.test",
    "HTTPie": f"http -a user:{SECRET} https://x.test",
    "sqlplus": f"sqlplus user/{SECRET}@db.internal",
    "smbclient": f"smbclient //db.internal/s -U user%{SECRET}",
    "net use": f"net use Z: \\\\db.internal\\s /user:me {SECRET}",
    "keytool": f"keytool -list -storepass {SECRET} -keypass {SECRET}",
    "zip": f"zip -P {SECRET} a.zip b",
    "7z": f"7z x -p{SECRET} a.7z",
    "lftp": f"lftp -u user,{SECRET} db.internal",
    "htpasswd": f"htpasswd -b file user {SECRET}",
    "RabbitMQ": f"rabbitmqctl add_user user {SECRET}",
    "kubectl": f"kubectl create secret generic x --from-literal=db={SECRET}",
    "gh": f'gh secret set FOO --body "{SECRET}"',
    "chpasswd": f'echo "me:{SECRET}" | chpasswd',
    "docker login, by a pipe": f"echo {SECRET} | docker login -u user --password-stdin",
    "PowerShell": f'ConvertTo-SecureString "{SECRET}" -AsPlainText -Force',
    "SQL": f"CREATE USER me IDENTIFIED BY '{SECRET}';",
    "SQL, PostgreSQL": f"ALTER ROLE user WITH PASSWORD '{SECRET}';",
    "PHP": f"define( 'DB_PASSWORD', '{SECRET}' );",
    "an environment": f'os.environ["DB_PASSWORD"] = "{SECRET}"',
    "Terraform": f'variable "db_password" {{\n  type = string\n  default = "{SECRET}"\n}}',
    "Ansible": f"ansible_become_pass: {SECRET}",
    "Laravel": f"APP_KEY=base64:{_LONG}=",
    "German": f"Das Passwort lautet {SECRET}",
    "German, named": f"Kennwort: {SECRET}",
    "a radio's": f'network={{\n  psk="{SECRET}"\n}}',
    "a Secret": f"kind: Secret\nmetadata:\n  name: x\n  labels:\n    a: b\ntype: O\ndata:\n  db: {SECRET}\n  b: c\n",
    "a Secret, by kubectl": f"apiVersion: v1\ndata:\n  db: {SECRET}\nkind: Secret\n",
    "PuTTY": f"Public-Lines: 1\nabc=\nPrivate-Lines: 2\n{_LONG}\n{SECRET}\nPrivate-MAC: 12",
    "shadow": f"user:$6$saltsalt${_LONG}:19000:0:99999:7:::",
    "a purse": f"MNEMONIC='{'correct ' * 11}correct'",
    "a purse's key": f"xprv9s21{SECRET * 7}",
    "a private key, by name": f"privkey: {_LONG}",
    "Telegram, an address": f"https://api.telegram.org/bot123456789:AA{_LONG[:33]}/getMe",
    "base64 of a file": base64.b64encode(f"A=1\nDB_PASSWORD={SECRET}\n".encode()).decode(),
    "Chinese": f"数据库密码：{SECRET}，请勿外传",
    "Chinese, in a sentence": f"密码是{SECRET}",
    "Japanese": f"パスワード: {SECRET}",
    "Korean": f"비밀번호: {SECRET}",
    "Russian": f"Пароль: {SECRET}",
    "French": f"mot de passe : {SECRET}",
    "Spanish": f"contraseña: {SECRET}",
    "Portuguese": f"DB_SENHA={SECRET}",
    "a wide colon": f"password：{SECRET}",
    "in a column": f"password      = {SECRET}",
    "a row of a table": f"| `DB_PASSWORD` | {SECRET} |",
    "Markdown, bold": f"**Password:** {SECRET}",
    "Markdown, a bold name": f"**Password**: {SECRET}",
    "prose, a key": f"here is the API key: {SECRET}",
    "short for it": f"pw: {SECRET}",
    "four characters": "password=c2=\n".replace("c2=", "z9!k"),
    "XML, four characters": "<password>z9!k</password>",
    "with an escaped quote": json.dumps({"password": f'abcd"{SECRET}'}),
    "TOML, in three quotes": f"client_secret = '''{SECRET}'''",
    "Python, bytes": f"app.secret_key = b'{SECRET}'",
    "Python, with a type": f'API_KEY: str = "{SECRET}"',
    "Rust, with a type": f'let api_key: &str = "{SECRET}";',
    "C": f'char password[] = "{SECRET}";',
    "C, a macro": f'#define API_KEY "{SECRET}"',
    "Java": f'ds.setPassword("{SECRET}");',
    "SQL Server": f"CREATE LOGIN me WITH PASSWORD = N'{SECRET}';",
    "MySQL": f"SET PASSWORD FOR me = PASSWORD('{SECRET}');",
    "in two parts": f'token = "{SECRET}" + "{SECRET}"',
    "in two lines": f'token = "{SECRET}" \\\n    "{SECRET}"',
    "YAML, a block of two lines": f"token: >-\n  {_LONG}\n  {_LONG}\nport: 5432",
    "a header in two lines": f'-H "Authorization: Bearer \\\n{SECRET}"',
    "a pair": f"requests.get(url, auth=('user', '{SECRET}'))",
    "an object of a pair": f"HTTPBasicAuth('user', '{SECRET}')",
    "a call of a pair": f'server.login("user", "{SECRET} {SECRET}")',
    "a page": f'<meta name="csrf-token" content="{SECRET}">',
    "curl, a cookie": f"curl -b 'sid={SECRET}' https://x.test",
    "mysql, quoted": f"mysqldump -u root -p'{SECRET} {SECRET}' shop",
    "sqlcmd": f"sqlcmd -S db.internal -U user -P {SECRET}",
    "bcp": f"bcp t out f -S db.internal -U user -P{SECRET}",
    "twine": f"twine upload -u user -p {SECRET} dist/*",
    "cqlsh": f"cqlsh -u user -p {SECRET} db.internal",
    "mosquitto": f"mosquitto_pub -u user -P {SECRET} -t x",
    "plink": f"plink -ssh user@db.internal -pw {SECRET}",
    "ssh-keygen": f"ssh-keygen -t ed25519 -N '{SECRET}' -f k",
    "openssl, by a key": f"openssl enc -aes-256-cbc -k {SECRET} -in a",
    "wpa_passphrase": f"wpa_passphrase net {SECRET}",
    "nmcli": f"nmcli dev wifi connect net password {SECRET}",
    "MinIO": f"mc alias set m http://db.internal:9000 user {SECRET}",
    "Poetry": f"poetry config http-basic.x user {SECRET}",
    "a remote desktop": f"xfreerdp /u:user /p:{SECRET} /v:db.internal",
    "etcd": f"etcdctl --user user:{SECRET} get /",
    "Neo4j": f"NEO4J_AUTH=neo4j/{SECRET}",
    "a workflow": f"echo ::add-mask::{SECRET}",
    "Vault's seal": f"Unseal Key 1: {_LONG}",
    "WordPress": f"define('AUTH_KEY',         '{SECRET}');",
    "a JSON Web Key, its primes": json.dumps({"kty": "RSA", "p": _LONG}),
    "OpenVPN": f"-----BEGIN OpenVPN Static key V1-----\n{_HEX * 2}\n{SECRET}\n-----END OpenVPN Static key V1-----",
    "an option, in JSON": json.dumps({"command": f"x --token {SECRET}"}),
}


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN)
def test_values_named_like_secrets_go(text: str) -> None:
    found = redacted(text)
    assert not any(
        secret in found for secret in (SECRET, "correct", "dXNlcjpx", "z9!k", "UGFTU1dPUkQ", "01ba4719", "b4c8d1e7")
    )
    assert "[redacted" in found
    kept = [word for word in ("port", "5432", "db.internal", "user", "c=2", "--now") if word in text]
    assert all(word in found for word in kept)


_LOCKED = _PEM.replace("KEY-----\n", "KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,A1\n\n", 1)
_NUMBERED = "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(_PEM.splitlines(), 1))


@pytest.mark.parametrize("shape", [
    _PEM, _PEM.replace("\n", "\\n"), json.dumps({"pem": _PEM}), _PEM[:140], _PEM[40:], _PEM[40:].replace("\n", "\r\n"),
    _LOCKED, _LOCKED[:-60], _NUMBERED, _NUMBERED[:180], _NUMBERED[60:],
    _PEM.replace("\n", "\n+"), _PEM.replace("\n", "\n> "),
])  # fmt: skip
def test_private_keys_go(shape: str) -> None:
    found = redacted(f"before {shape}\nThe text after it stays.")
    assert SECRET not in found
    assert found.startswith("before ") and found.endswith("The text after it stays.")


def test_speaking_of_a_private_key_costs_no_text() -> None:
    text = 'It begins with "-----BEGIN PRIVATE KEY-----" and then comes base64. We decided to keep port 8443.'
    assert "We decided to keep port 8443." in redacted(text)


ORDINARY = [
    "max_tokens: 8000", "max_tokens=200000", '{"input_tokens": 123456, "output_tokens": 99}', "tokens: 1_000_000",
    "total_tokens = 1,234,567 tokens", "token_count: int = 0", "def count(tokens: Sequence[str]) -> int:",
    "tokenizer: Tokenizer = AutoTokenizer.from_pretrained(name)", "tokens: number;", "interface A { token: string; }",
    "password: Optional[str] = None", "password: str | None", "token = response.token",
    "const token = await getToken();",
    "api_key = os.environ['API_KEY']", "apiKey: process.env.API_KEY", "password=$DB_PASSWORD",
    "token: ${{ secrets.T }}",
    "if token == expected_token:", "if password == other_password:", "token_type = \"bearer\"", 'type: "password"',
    "commit 3f786850e387550fdab836ed7e6dc881de23001b", "id 123e4567-e89b-12d3-a456-426614174000",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "src/auth/token_store.py:12",
    "tests/test_password_reset.py::test_expired_token", "/home/me/project/secrets/README.md",
    "git@github.com:me/it.git",
    "https://x.test/a/b?page=2&sort=name#top", "http://localhost:8080/api", "secret santa: everybody brings a gift",
    "The password must have 12 characters.", "Tokens: see the docs.", "risk-management-and-other-things", "task-force",
    "the secret: don't panic", "ask-the-user-what-he-wants-now", "keyboard: qwerty123456", "monkey=bananas123",
    "primary_key=customer_id", "key: value", "sk-learn is a library", "a password manager: 1Password",
    "password = getpass.getpass()", "secretKeyRef:\n  name: db", "credentials: include", "[redacted key]",
    "secretName: my-db-credentials", "token_url = https://auth.x.test/oauth/token", "TOKEN_EXPIRY=15minutes",
    "SECRET_FILE=/run/secrets/db1", "PWD=/home/me/project1", "token_path=src/auth/token2.py", '"js-tokens": "^4.0.0"',
    "jsonwebtoken: 9.0.2", "sk-learn-contrib-package", "Basic understanding-of-things", "?key=users:list",
    "IDEMPOTENCY_KEY=123e4567-e89b-12d3-a456-426614174000", "PRIMARY_KEY = customer_id_of_the_order",
    "the password is checked twice", "<password>", "set token to expire", "ENV NODE_ENV production",
    f"{'QUJD' * 19}\n{'QUJD' * 19}\n-----END CERTIFICATE-----", "integrity sha512-" + "aB3/" * 22,
    "src/secrets.ts: rotated", "http://localhost:8080/users/@me", "https://x.test:443/a/b@2x.png", "pass: everything",
    "auth: required", '"auth": "oauth"', "tests: 12 pass: 12", "compass: north1", "bypass: true", "docker login x.test",
    "pattern: pat-a-cake", "re_compile_pattern_once", "test_every_thing_that_can_be_thought_of", "API-REFERENCE-GUIDE",
    "ops_team_and_others_and_more_people", "live_reload_is_on", "SKELETON", "sk.example.org",
    "apiVersion: v1\ndata:\n  host: db.internal\nkind: ConfigMap\n", "sqlplus /nolog", "unzip -p a.zip b/c",
    "mnemonic: push", "password=password,", "self.password = password",
    "echo hello | sudo tee /etc/motd", "a.py:12:3:error:unused", '["user", "password", "email"]', "price: $1$",
    "identified by its number", "gh secret set FOO < file", "zip -r a.zip b", 'table.set("key", "value")',
    "client_key: north", "app_key = settings.app_key", "creds: Credentials", "creds = service_account",
    "serverKey: /etc/ssl/private/server1.pem", "live_reload_of_the_page_is_on_2026-11-19_at_noon", "STS.regional",
    "sc_a.b.acc", "waka_waka", "the 1000.5 of them", "00D!", "BSA1", "K10::server:x", "api_live.test",
    "密码不能为空", "密码：必填", "密码长度至少为12位", "パスワードを入力してください", "Пароль: обязательное поле",
    "mot de passe : obligatoire", "la contraseña: no puede estar vacía", "password: !vault |",
    "password: op://dev/db/password",
    "const token = req.headers.authorization?.split(' ')[1];", 'get_secret_value(SecretId="prod/db")',
    "secretRef: app-env",
    "arn:aws:secretsmanager:us-east-1:123456789012:secret:prod/db-AbCdEf", "| password | string | the user's |",
    "| token_limit | 128000 |", "| API_KEY | required |", "API key: see https://x.test/docs/keys2",
    "**Password**: required",
    'password: string = ""', 'token: Token = "identifier"', 'def login(user: str, password: str = "") -> None:',
    'auth=("user", "password")', 'server.login("user", password)', "setPassword(newPassword)", 'setToken("")',
    'password("Enter it once more")', '#define TOKEN_MAX "64"', "redis-cli -p 6379 ping", 'ssh-keygen -N "" -f key',
    "sqlcmd -S db -E", "twine upload dist/*", "SGVsbG8gd29ybGQsIHRoaXMgaXMganVzdCBhIHRleHQgaW4gYmFzZTY0",
    "pw: see vault",
    "password    = config.password", "access_token     : the token that the server gave",
    "AKIA and others, as they are",
    "tx 0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060", "robot12345678 says hello",
    '"p": "a word"',
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ4mT0u9X9b8ZQ3m6n0VhYwq5n2L2xQx1yZk9J7e5D1K me", "password=${DB}",
    "<your-key>",
    "docker run -d --name mongo -p 27017:27017 mongo:7", "docker run --name mysql -p3306:3306 mysql:8",
    "npm i mongoose && mkdir -p src/models/users", "cd mongo && cp -a build/out dist", "mongo; find . -prune",
    "cd mysql && pytest -pno:cacheprovider", '{"k": "3f786850e387550fdab836ed7e6dc881de23001b"}',
    "API key: docs/setup/keys2/readme.md", "mongod -port 27018", "bcp is fine -prefix and so",
    "cookie: a small cake", '"contextTokens": "those of the context",',
]  # fmt: skip


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays(text: str) -> None:
    assert redacted(text) == text


@pytest.mark.parametrize("value", [
    {"password": SECRET}, {"env": {"DB_PASSWORD": SECRET}}, {"headers": {"Authorization": f"Bearer {SECRET}"}},
    [{"apiKey": [SECRET, SECRET]}], {f"sk-ant-api03-{_LONG}": 1}, {"content": [{"input": {"client_secret": SECRET}}]},
    {"env": [{"name": "API_TOKEN", "value": SECRET}]},
])  # fmt: skip
def test_what_the_name_of_a_field_says_is_heeded(value: Any) -> None:
    assert SECRET not in json.dumps(redacted_value(value))


def test_fields_that_only_sound_like_secrets_stay() -> None:
    value = {"max_tokens": 8000, "tokens": {"input": 12, "output": 3}, "token_type": "bearer", "password": None,
             "secret": True, "apiKey": "", "name": "API_TOKEN"}  # fmt: skip
    assert redacted_value(value) == value


@given(JSON)
@example({"password": [{"token": "a\ud800bcdefg1"}]})
def test_no_value_is_too_strange_and_its_shape_stays(value: Any) -> None:
    found = redacted_value(value)
    assert type(found) is type(value)
    assert redacted_value(found) == found


_PIECES = st.sampled_from([
    "password", "token", "=", ": ", "\"", "'", "\n", " ", SECRET, "sk-", "-----BEGIN PRIVATE KEY-----", "eyJ", ".",
    "-----END PRIVATE KEY-----", "https://", "@", "Bearer ", "&key=", "[redacted value]", "`", "\\", "AKIA", "(", "a",
    "密码: ", "|", " + ", "|\n  ", "UEFTU1dPUkQ9cTdaazJWeFc5dEI0bk04cw==", "wpa_passphrase a ", "9",
])  # fmt: skip


@given(st.lists(_PIECES, max_size=12).map("".join))
@example('token:="aaaa"="bbbbbb1"')
@example(f"密码: {SECRET}密码: {SECRET}")
@example("wpa_passphrase a 密码: =-----END PRIVATE KEY-----")
@example("-----BEGIN PRIVATE KEY-----a-----BEGIN PRIVATE KEY----------END PRIVATE KEY-----a-----END PRIVATE KEY-----")
def test_twice_is_the_same_as_once(text: str) -> None:
    once = redacted(text)
    assert redacted(once) == once


def test_every_shape_says_where_it_is_from() -> None:
    sources = [row[-1] for row in (*PROVIDERS, *INSIDE)]
    assert set(sources) == {"docs", "gitleaks", "trufflehog", "detect-secrets", "scanners"}
    beginnings = [prefix for row in PROVIDERS for prefix in row[1].split(" ")]
    assert len(beginnings) > 200 and "" not in beginnings


def test_base64_is_read_to_its_end() -> None:
    """Also where it goes on behind the part of the text that is looked at at once."""
    hidden = base64.b64encode(f"{'a line of settings that is none. ' * 300}\nDB_PASSWORD={SECRET}".encode()).decode()
    for before in range(60_000, 66_000, 1_500):
        assert hidden[-24:] not in redacted("a " * (before // 2) + hidden)


def _longest_stretch(text: str) -> float:
    """The most processor time that one call holds the interpreter: between two, another thread gets its turn."""
    begun, longest = 0.0, 0.0

    def profile(_: object, event: str, __: object) -> None:
        nonlocal begun, longest
        if event == "c_call":
            begun = time.thread_time()
        elif event == "c_return":
            longest = max(longest, time.thread_time() - begun)

    sys.setprofile(profile)
    try:
        redacted(text)
    finally:
        sys.setprofile(None)
    return longest


_BASE64 = "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5ejAxMjM0"


@pytest.mark.turns(2)
@pytest.mark.parametrize("piece", [
    "The token is in the vault, see docs/keys.md for the rest. ", _BASE64 + "\n", "a.b-c_", "\u0130\u00e4 token ",
])  # fmt: skip
def test_two_megabytes_hold_nobody_up(piece: str) -> None:
    assert _longest_stretch("-----BEGIN PRIVATE KEY-----\n" + piece * (2_000_000 // len(piece))) < patience(0.05)


@pytest.mark.parametrize("piece", [
    "eyJaaaaaaaa-", "eyJaaaaaaaa.", "sk-", "password=", 'token="', "token:'", "-----BEGIN PRIVATE KEY-----", "a",
    "a-", "a.",
    "-----BEGIN A ", "-----END A ", "https://", "https://a:", "https://a:b", "?token=", "_", "A_", "Bearer ", "SG.",
    "SG.a",
    "-----BEGIN PRIVATE KEY-----\n" + "A" * 60 + "\n", "xoxb-", " ", "\\n", "secret", "--token ", "Cookie: ", "aA1",
    "A" * 60 + "\n", "A" * 60 + " ", "A" * 15 + " ", "-----END PRIVATE KEY-----\n", "1\t" + "A" * 20 + "\n",
    "curl ", "mysql ", "name: TOKEN\n", "<token>", "set TOKEN ", "password is ", "password: |\n  ", '\\\\"', "A_KEY=",
    "MAAAAAAAAAAAAAAAAAAAAAAA.", "kind: Secret\n", "kind: Secret\nmetadata:\n a\n", "apiVersion: v1\ndata:\n a: b\n",
    "Private-Lines: 1\nAAAA\n", "mnemonic abc abc ", 'variable "token" {\n type ', "echo a|", "login a ", ":*:", "zip ",
    "密码: ", "|token", "token[", "setPassword(", "password='\\", "token: |\n  aaaaaa\n", "'a' + ", "ssh-keygen ",
    "sqlplus a", "htpasswd -b a ", "$6$", 'set("token", ', "mongo -p ", "mysql -", "a" * 4_000,
])  # fmt: skip
def test_the_cost_grows_with_the_length_and_not_with_its_square(piece: str) -> None:
    """As a ratio in one run: eight times the text takes about eight times as long, not sixty-four."""

    def cost(length: int) -> float:
        text = piece * (length // len(piece))
        best = float("inf")
        for _ in range(3):
            begun = time.process_time()
            redacted(text)
            best = min(best, time.process_time() - begun)
        return best

    assert cost(80_000) < 30 * cost(10_000) + 0.05
