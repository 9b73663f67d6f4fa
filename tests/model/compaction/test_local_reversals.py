"""When a statement takes the place of an earlier one: both sides kept is a failure, and so is a decision lost."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.model.compaction.said import assistant, decisions, items_after, user

OTHERS = (
    "All endpoints return JSON.",
    "Never commit directly to main.",
    "The API listens on port 3000.",
    "We only support Node 20.",
)

REVERSED = [
    # what it rejects is named
    ("Let's deploy to Heroku.", "We're moving from Heroku to Fly.io."),
    ("Use Jest for unit tests.", "Let's use Vitest rather than Jest."),
    ("Use MySQL 8 for the main database.", "I've decided against MySQL; PostgreSQL 16 for the main database."),
    ("Name the package billing-core.", "The package is called billing-kit instead of billing-core."),
    ("Log level in production is debug.", "Log level in production should be warn, not debug."),
    ("Dates are stored as unix timestamps.", "Dates should be stored as ISO strings instead of unix timestamps."),
    ("API keys go in the .env file.", "API keys no longer go in the .env file, put them in Vault."),
    ("GraphQL for the public API.", "Forget GraphQL, the public API will be plain REST."),
    ("Include the CSV export in v1.", "Drop the CSV export from v1."),
    ("The queue runs on Kafka.", "Kafka didn't work out, the queue is on NATS."),
    # a word says that something changes, and the subject is the same
    ("We'll store sessions in Postgres.", "No, put sessions in Redis."),
    ("Use tabs for indentation.", "Actually, use spaces for indentation."),
    ("We ship on Friday.", "Change of plan: we ship on Monday."),
    ("Colors: primary is blue.", "On second thought the primary color should be green."),
    ("The feature flag is called new_checkout.", "Correction: the feature flag is called checkout_v2."),
    ("use redis for the queue", "nah, use sqs for the queue"),
    ("We support IE11.", "We don't support IE11 any more."),
    ("Use a monorepo.", "Let's not use a monorepo after all, separate repositories please."),
    # the same thing with another value needs no such word
    ("The timeout is 30 s", "The timeout is 45 s now"),
    ("Use port 8080", "Use port 9090 from now on"),
    ("Retries: 3", "Retries: 5"),
    ("Passwords need at least 8 characters.", "Passwords need at least 12 characters."),
    ("The default page size should be 25.", "Change the default page size to 50."),
    ("Use Redis for the cache.", "Use Memcached for the cache."),
    # what was chosen is spoken against, and something else is named
    ("We'll go with Auth0 for sign-in.", "On second thought, Keycloak. Auth0 gets pricey above 7000 users."),
    ("use puppeteer to render the invoices", "puppeteer won't work because we have no chrome, going with weasyprint"),
    ("style everything with styled-components", "drop styled-components; Tailwind it is"),
    ("dates are handled with moment", "moment is deprecated, use dayjs"),
    ("the dashboard gets its updates by polling", "polling is too slow for the dashboard, do it with websockets"),
    ("we work on feature branches", "no feature branches any more, we commit to trunk"),
    ("state lives in Redux", "I don't think Redux pays off here. Let's have the state in Zustand."),
    ("unit tests in Jest", "Jest can't handle our ESM stuff. Vitest"),
    ("cache eviction is LRU", "LRU evicts the hot stuff, go LFU for the eviction"),
    ("tests run in parallel with pytest-xdist", "tests can't run with pytest-xdist any more. one process only"),
    # the same is said with another word at the end
    ("indent with tabs", "I lost that vote: indent with spaces"),
    ("payments through Stripe", "finance signed with Adyen yesterday so payments go through Adyen, sorry for the mess"),
    ("database is MySQL 8", "database changed to MariaDB 11"),
    ("hash passwords with bcrypt", "security review says argon2 for password hashing, please change it"),
    ("licence: MIT", "legal came back: licence has to be Apache 2.0"),
    ("widths are given in inches", "the lab people insist: widths are given in metres"),
    ("check the forms with Yup", "replace Yup by Zod when you check the forms"),
    ("letters are sent by Hermes", "Hermes keeps losing parcels. Letters are sent by Iris from May on."),
    # another number
    ("the feature freeze is on 14 October", "feature freeze moved to 2 November"),
    ("sessions expire after 30 minutes", "actually 90 minutes, people complained about the sessions"),
    ("retry failed uploads 3 times", "3 retries for uploads isn't enough, make it 5"),
    ("give each worker 256 MB", "workers keep dying with 256 MB, give each worker 512 MB"),
    ("mails leave in batches of 40 letters", "the relay chokes, let mails leave in batches of 15 letters"),
    ("our metrics port must be exactly 9100", "Please set the metrics port to 9200."),
    ("For the mailer's batch size we want 40 letters.", "i said 40 for the mailer's batch size, but make it 70"),
    # it is weighed first, or comes in two sentences
    ("use Chakra for the forms", "I've been thinking about the forms again and I'd rather have Mantine than Chakra."),
    ("The feed is parsed with lxml.", "I'd prefer html5lib to lxml, so parse the feed with html5lib."),
    ("sign-in goes through Auth0", "Auth0 isn't working for us. Let's try Clerk instead and remove the old route."),
    ("use Bootstrap for the layout", "Bootstrap outstayed its welcome in the layout. Tailwind will take its place."),
    ("Show 20 rows in the ledger.", "Can you update the ledger? It shows 20 rows at the moment and we need 35 rows."),
    ("I told all that we do the wire format in bson", "new info, new plan: wire format on msgpack"),
    # other languages
    ("Wir verwenden MySQL als Datenbank.", "Planänderung: wir verwenden PostgreSQL statt MySQL als Datenbank."),
    ("Usamos MySQL para los pedidos.", "Mejor usamos PostgreSQL en lugar de MySQL para los pedidos."),
    ("On utilise MySQL pour les commandes.", "Finalement on utilise PostgreSQL au lieu de MySQL pour les commandes."),
    ("数据库使用 MySQL。", "数据库改用 PostgreSQL,不再使用 MySQL。"),
    ("データベースは MySQL を使います。", "やっぱり MySQL ではなく PostgreSQL を使います。"),
]

BOTH_HOLD = [
    ("Use Redis for the cache.", "Use Redis for the session store too."),
    ("Use Postgres for the database.", "Don't use Redis for sessions."),
    ("Use port 8080.", "Also use port 9090."),
    ("The timeout for orders is 30 s.", "The timeout for billing is 45 s."),
    ("Passwords must have at least 12 characters.", "Passwords must be rotated every 90 days."),
    ("All API responses must be JSON.", "All API responses must arrive within 200 ms."),
    ("Use port 8080 for the API.", "Use port 9090 for the admin panel."),
    ("Deploy the api with Docker.", "Deploy the worker with systemd."),
    ("Tests must run offline.", "Actually, tests must run in parallel too."),
    ("Module 3 uses SQLite.", "Module 4 uses DuckDB."),
    ("Batch size for importer-3 is 500.", "Batch size for importer-7 is 900."),
    ("Use Vitest for unit tests.", "Use Playwright for end-to-end tests."),
    ("The config lives in config/app.yaml.", "The schema lives in config/schema.sql."),
    ("Use British spelling in the docs.", "Use short sentences in the docs."),
    ("Sessions expire after 30 minutes.", "Sessions are limited to 5 per user."),
    ("Use Redis for the cache.", "Redis must not be reachable from outside, use a private network."),
    ("Use Redis for the cache.", "Redis runs on port 6380, use TLS."),
    ("We deploy with Docker.", "Docker images must not run as root, use a dedicated user."),
    ("Attachments are stored in S3.", "S3 is not for logs, ship those to Loki."),
    ("Tests run in Jest.", "Jest is slow in CI, so cache node_modules there."),
    ("Use Postgres for the orders.", "Postgres can't do full text well enough, so use Meilisearch for the search."),
    ("Use Vue for the admin UI.", "Don't use Vue in the public site, use plain HTML there."),
    ("Hosting is on Fly.io.", "Fly.io has no cron, use a worker for the nightly jobs."),
    ("mails go out through Postmark", "Postmark doesn't like attachments over 10 MB, so link to big files instead"),
    ("alerts go to Slack", "deploy notices don't go to Slack, they go to the mailing list"),
    ("The queue is RabbitMQ.", "RabbitMQ needs no TLS on localhost, skip the certs in dev."),
    ("the feature freeze is on 14 October", "the demo moved to 2 November"),
    ("retry failed uploads 3 times", "retry failed payments 5 times, 3 is not enough there"),
    ("The app isn't only for nurses.", "Let's write review rules for this app."),
    ("Use Yup for the forms.", "replace Yup by Zod in the importer only, the forms keep it"),
    ("labels are printed in German", "labels are kept in Excel"),
    ("Backups are encrypted with age.", "Backups are uploaded to Hetzner."),
    ("Alembic for the migrations", "the migrations run before the deployment"),
    ("The request timeout is 30 s.", "The request timeout for billing is 45 s."),
    ("The reverse proxy is Caddy.", "I reconsidered the forward proxy, please go with Squid instead."),
    ("Only admins may change the login page.", "Scrap what I said about the login page, use Svelte there."),
]


def _before(statement: str) -> list[dict[str, object]]:
    return [*map(user, OTHERS[:2]), user(statement), *map(user, OTHERS[2:]), *[assistant("On with the parser.")] * 6]


@pytest.mark.parametrize(("earlier", "later"), REVERSED)
@pytest.mark.parametrize("apart", [True, False], ids=["in two rounds", "in one"])
def test_only_the_newest_side_is_left(earlier: str, later: str, apart: bool) -> None:
    begin = items_after(*_before(earlier)) if apart else ()
    found = decisions(*(() if apart else _before(earlier)), user(later), items=begin)
    assert sorted(found) == sorted([*OTHERS, later])


@pytest.mark.parametrize(("earlier", "later"), BOTH_HOLD)
def test_what_does_not_contradict_stays(earlier: str, later: str) -> None:
    assert {earlier, *OTHERS} <= set(decisions(user(later), items=items_after(*_before(earlier))))


def test_a_change_of_plan_colours_the_sentence_after_it() -> None:
    begin = items_after(user("RabbitMQ carries the events."), *[assistant("Fine.")] * 6)
    assert decisions(user("Forget RabbitMQ. We use Redis streams for the events."), items=begin) == [
        "We use Redis streams for the events."
    ]


def test_that_points_at_what_was_just_said_and_not_further_back() -> None:
    said = user("Use tabs."), assistant("Will do."), user("Scrap that, we use spaces.")
    assert decisions(*said) == ["Scrap that, we use spaces."]
    assert decisions(said[0], *[said[1]] * 6, said[2]) == ["Use tabs.", "Scrap that, we use spaces."]


@pytest.mark.parametrize(
    ("stated", "answer", "kept"),
    [
        ("Plan: we'll use Postgres for the storage.", "no, sqlite", "no, sqlite (storage)"),
        ("For the browser tests I'll go with Cypress, since we know it.", "nope, Playwright", "nope, Playwright"),
        ("I decided to use Kafka for the events.", "that's too heavy. NATS please", "that's too heavy. NATS"),
    ],
)
def test_a_no_takes_the_place_of_what_the_assistant_just_stated(stated: str, answer: str, kept: str) -> None:
    (found,) = decisions(assistant(stated), user(answer))
    assert found.startswith(kept)


def test_a_no_that_answers_a_question_takes_nothing_back() -> None:
    said = user("Use pnpm."), assistant("Will do. Is Postgres right for the storage?"), user("no, sqlite")
    assert decisions(*said) == ["Use pnpm.", "no, sqlite"]
    assert decisions(user("Retries: 3"), assistant("Fine."), user("no, sqlite")) == ["Retries: 3", "no, sqlite"]


def test_what_stands_beside_a_change_is_not_changed_by_it() -> None:
    told = "Pick Nx for the monorepo tool. Nobody gets to disable certificate checks."
    assert "Pick Nx for the monorepo tool." in decisions(user(told))


def test_a_bare_value_keeps_what_it_is_about() -> None:
    assert decisions(user("The request timeout is 30."), user("Actually, make it 45.")) == [
        "Actually, make it 45 (request timeout)"
    ]


def test_back_and_forth_leaves_the_last_word() -> None:
    told = ["Use npm for the build.", "Switch from npm to yarn for the build.", "Back to npm for the build, not yarn."]
    assert decisions(*map(user, told)) == [told[-1]]


def test_a_pinned_decision_stays_as_it_is() -> None:
    (item,) = (one for one in items_after(user("Use port 8080")) if one.list == "decisions")
    found = decisions(user("Use port 9090 from now on"), items=[replace(item, pinned=True)])
    assert found == ["Use port 8080", "Use port 9090 from now on"]
