"""What the real SDK makes of each answer: the rest of the tests stands on these shapes."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import messages_api
from tests.messages_api import COUNT, MESSAGES, MessagesApi, Reply, message, said, slow
from tests.warm import SdkScript

SCHEMA = {
    "type": "object",
    "properties": {"operations": {"type": "array", "items": {"type": "object"}}},
    "required": ["operations"],
    "additionalProperties": False,
}
# In a child, as dagentd does it: the SDK takes 1.6 s and 60 MB to import, and its threads and warnings stay there.
_CALL = """
import json, sys
import anthropic
given = json.load(sys.stdin)
client = anthropic.Anthropic(
    api_key=given["key"],
    base_url=given["url"],
    max_retries=0,
    timeout=given["timeout"],
    http_client=anthropic.DefaultHttpxClient(follow_redirects=False) if given["stay"] else None,
)
told = []
for request in given["requests"]:
    count = request.pop("count", False)
    try:
        reply = (client.messages.count_tokens if count else client.messages.create)(**request)
        told.append({"type": type(reply).__name__, "reply": reply if isinstance(reply, str) else reply.model_dump()})
    except Exception as error:
        response = getattr(error, "response", None)
        told.append({
            "raised": type(error).__name__,
            "ours": isinstance(error, anthropic.AnthropicError),
            "status": getattr(error, "status_code", None),
            "kind": getattr(error, "type", None),
            "body": getattr(error, "body", None),
            "retry-after": None if response is None else response.headers.get("retry-after"),
        })
json.dump(told, sys.stdout)
"""
_ASK = {"model": "claude-haiku-5-5", "max_tokens": 8000, "messages": [{"role": "user", "content": "hello"}]}


@pytest.fixture
def api() -> Iterator[MessagesApi]:
    with MessagesApi() as running:
        yield running


def call(
    api: MessagesApi,
    *requests: dict[str, Any],
    timeout: float = 30,
    key: str | None = "sk-ours",
    stay: bool = False,
    **environment: str,
) -> list[Any]:
    asked = requests or (_ASK,)
    given = json.dumps({"url": api.url, "key": key, "timeout": timeout, "stay": stay, "requests": asked})
    scene = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    pipe = subprocess.PIPE
    with SdkScript(_CALL, stdin=pipe, stdout=pipe, text=True, env=scene | environment) as done:
        printed, _ = done.communicate(given)
    assert done.returncode == 0
    return json.loads(printed)  # type: ignore[no-any-return]


def outcomes(api: MessagesApi, *replies: Reply) -> list[Any]:
    api.then(*replies)
    return call(api, *[_ASK] * len(replies))


def test_a_raw_schema_reaches_the_wire_and_the_text_comes_back(api: MessagesApi) -> None:
    api.then(said('{"operations": []}', cache_creation_input_tokens=5, cache_read_input_tokens=7))

    (told,) = call(api, _ASK | {"system": "S", "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}})

    (seen,) = api.calls()
    assert seen.body == {**_ASK, "system": "S", "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}}
    assert seen.headers["authorization"] == "Bearer sk-ours"
    assert seen.headers["anthropic-version"] == "2026-10-21"
    reply = told["reply"]
    assert [block["text"] for block in reply["content"]] == ['{"operations": []}']
    assert (reply["stop_reason"], reply["model"]) == ("end_turn", "claude-haiku-5-5")
    usage = reply["usage"]
    assert (usage["input_tokens"], usage["output_tokens"]) == (1200, 80)
    assert (usage["cache_creation_input_tokens"], usage["cache_read_input_tokens"]) == (5, 7)


def test_thinking_comes_as_blocks_of_its_own_before_the_text(api: MessagesApi) -> None:
    thinking = {"type": "thinking", "thinking": "hm", "signature": "abc"}
    hidden = {"type": "redacted_thinking", "data": "xyz"}
    api.then(message([thinking, hidden, {"type": "text", "text": "{}"}], "end_turn", "claude-haiku-5-5"))

    (told,) = call(api)

    assert [block["type"] for block in told["reply"]["content"]] == ["thinking", "redacted_thinking", "text"]


def test_an_error_status_raises_with_the_status_and_kind(api: MessagesApi) -> None:
    expected = {
        messages_api.TOO_LONG: ("BadRequestError", 400, "invalid_request_error"),
        messages_api.UNAUTHORIZED: ("AuthenticationError", 401, "authentication_error"),
        messages_api.NO_MODEL: ("NotFoundError", 404, "not_found_error"),
        messages_api.TOO_LARGE: ("ContentTooLargeError", 413, "request_too_large"),
        messages_api.RATE_LIMITED: ("RateLimitError", 429, "rate_limit_error"),
        messages_api.BROKEN: ("InternalServerError", 500, "api_error"),
        messages_api.OVERLOADED: ("OverloadedError", 529, "overloaded_error"),
    }

    told = outcomes(api, *expected)

    assert [(one["raised"], one["status"], one["kind"]) for one in told] == list(expected.values())
    assert all(one["ours"] for one in told)
    assert [one["body"] for one in told] == [json.loads(reply.body) for reply in expected]
    assert [one["retry-after"] for one in told] == [None, None, None, None, "2592000", None, None]
    assert len(api.calls()) == len(expected)  # nothing is tried again


def test_a_cut_connection_raises_without_a_status(api: MessagesApi) -> None:
    before, within = outcomes(api, messages_api.CUT_BEFORE, messages_api.CUT_WITHIN)

    for told in (before, within):
        assert (told["raised"], told["status"], told["ours"]) == ("APIConnectionError", None, True)
    assert len(api.calls()) == 2


def test_half_a_json_body_raises_an_error_that_is_not_the_sdks(api: MessagesApi) -> None:
    (told,) = outcomes(api, messages_api.TRUNCATED)

    assert (told["raised"], told["ours"]) == ("JSONDecodeError", False)


def test_html_comes_back_as_a_text_and_an_empty_object_as_a_message_of_nothing(api: MessagesApi) -> None:
    page, empty = outcomes(api, messages_api.HTML, messages_api.EMPTY)

    assert page["type"] == "str" and page["reply"].startswith("<html>")
    assert empty["type"] == "Message"
    assert empty["reply"]["content"] is None and empty["reply"]["stop_reason"] is None
    assert empty["reply"]["usage"] is None


def test_stopped_and_refused_answers_are_told_by_the_stop_reason_alone(api: MessagesApi) -> None:
    stopped, refused = outcomes(api, messages_api.MAX_TOKENS, messages_api.REFUSAL)

    assert stopped["reply"]["stop_reason"] == "max_tokens" and stopped["reply"]["content"]
    assert refused["reply"]["stop_reason"] == "refusal" and refused["reply"]["content"] == []


def test_a_slow_answer_meets_the_timeout(api: MessagesApi) -> None:
    api.then(slow(600, said("late")))

    (told,) = call(api, timeout=0.2)

    assert (told["raised"], told["status"], told["ours"]) == ("APITimeoutError", None, True)


def test_a_slow_answer_is_given_when_it_is_released(api: MessagesApi) -> None:
    api.then(slow(600, said("at last")))
    told: list[Any] = []
    caller = threading.Thread(target=lambda: told.extend(call(api)))
    caller.start()

    api.await_calls(1)
    api.release()
    caller.join()

    assert told[0]["reply"]["content"][0]["text"] == "at last"


def test_an_answer_may_depend_on_the_request_and_the_script_ends_in_what_is_always_said(api: MessagesApi) -> None:
    api.then(lambda body: said(f"you said {body['messages'][0]['content']}"))
    api.always(said("no more"))

    told = call(api, *[_ASK] * 3)

    assert [one["reply"]["content"][0]["text"] for one in told] == ["you said hello", "no more", "no more"]


def test_tokens_are_counted_on_a_path_of_their_own(api: MessagesApi) -> None:
    ask = {key: _ASK[key] for key in ("model", "messages")} | {"count": True}
    api.then(Reply(body=b'{"input_tokens": 4711}'), messages_api.OVERLOADED, path=COUNT)

    counted, refused = call(api, ask, ask)

    assert counted["reply"]["input_tokens"] == 4711
    assert refused["raised"] == "OverloadedError"
    assert api.calls() == [] and len(api.calls(COUNT)) == 2


def test_a_key_and_an_address_that_are_given_win_over_home_and_environment(api: MessagesApi, home: Path) -> None:
    _log_in(home / ".config" / "anthropic", "sk-foreign-profile")
    call(api, key=None)
    assert api.calls()[-1].headers["authorization"] == "Bearer sk-foreign-profile"  # this home can betray

    (told,) = call(
        api,
        ANTHROPIC_API_KEY="sk-foreign",
        ANTHROPIC_AUTH_TOKEN="sk-foreign",
        ANTHROPIC_BASE_URL="http://127.0.0.1:9",
        ANTHROPIC_PROFILE="default",
    )

    assert told["type"] == "Message"
    assert "foreign" not in json.dumps(dict(api.calls()[-1].headers))


def _log_in(config: Path, token: str) -> None:
    """As `ant auth login` leaves a home."""
    for name in ("configs", "credentials"):
        (config / name).mkdir(parents=True)
    (config / "configs" / "default.json").write_text(json.dumps({"authentication": {"type": "user_oauth"}}))
    secret = config / "credentials" / "default.json"
    secret.write_text(json.dumps({"access_token": token, "expires_at": 4102444800}))
    secret.chmod(0o600)


def test_a_redirection_takes_the_text_to_another_host_unless_it_is_forbidden(api: MessagesApi) -> None:
    with MessagesApi() as elsewhere:
        api.always(Reply(307, headers={"location": f"{elsewhere.url}{MESSAGES}"}))

        (followed,) = call(api)
        assert followed["type"] == "Message" and elsewhere.calls()[0].body == _ASK
        assert "authorization" not in elsewhere.calls()[0].headers  # the key, at least, stays

        (stayed,) = call(api, stay=True)
        assert (stayed["raised"], stayed["status"]) == ("APIStatusError", 307)
        assert len(elsewhere.calls()) == 1


def test_headers_named_in_the_environment_are_sent_all_the_same(api: MessagesApi) -> None:
    """So the child's environment must be cleared of them."""
    call(api, ANTHROPIC_CUSTOM_HEADERS="x-betrayed: yes")

    assert api.calls()[0].headers["x-betrayed"] == "yes"


def test_a_proxy_of_the_environment_is_used_unless_no_proxy_names_the_host(api: MessagesApi) -> None:
    nowhere = "http://127.0.0.1:9"
    (through,) = call(api, HTTP_PROXY=nowhere, http_proxy=nowhere)
    assert through["raised"] == "APIConnectionError" and api.calls() == []

    (direct,) = call(api, HTTP_PROXY=nowhere, http_proxy=nowhere, NO_PROXY="127.0.0.1", no_proxy="127.0.0.1")
    assert direct["type"] == "Message"


def test_the_sdk_leaves_nothing_in_the_home(api: MessagesApi, home: Path) -> None:
    before = sorted(home.rglob("*"))

    call(api, ANTHROPIC_LOG="debug")

    assert sorted(home.rglob("*")) == before
