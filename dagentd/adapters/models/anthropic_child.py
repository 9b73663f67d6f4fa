"""The process that calls the Anthropic API: one question on standard input, one JSON object on standard output. It is
run as a file, so that it imports nothing of dagentd."""

from __future__ import annotations

import json
import math
import os
import sys
import threading
from typing import Any

import anthropic

_MAX_TOKENS = 16_000  # over about 21 000 the SDK insists on streaming
_USAGE = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_KINDS = {400: "other", 401: "auth", 403: "auth", 404: "model", 413: "too long", 429: "rate", 529: "overloaded"}


def main() -> None:
    given = json.load(sys.stdin.buffer)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    json.dump(_told(given), sys.stdout)
    sys.stdout.flush()


def _end_with_parent() -> None:
    """The other end of this pipe is open for as long as somebody wants the answer."""
    if lifeline := os.environ.get("DAGENTD_LIFELINE"):
        os.read(int(lifeline), 1)
        os._exit(1)


def _told(given: dict[str, Any]) -> dict[str, Any]:
    try:
        return _answer(_call(given))
    except anthropic.APIStatusError as error:
        return {"error": _status(error)}
    except anthropic.APITimeoutError:
        return {"error": {"kind": "slow", "message": "the API did not answer in time"}}
    except anthropic.APIConnectionError as error:  # its cause may quote the key
        cause = type(error.__cause__ or error).__name__
        if cause == "ConnectError":
            return {"error": {"kind": "server", "message": f"the API cannot be reached ({cause})"}}
        return {"error": {"kind": "lost", "message": f"the API hung up ({cause})"}}
    except Exception as error:  # what the SDK makes of an answer that is none
        return {"error": {"kind": "garbled", "message": f"the API answered no message ({type(error).__name__})"}}


def _call(given: dict[str, Any]) -> Any:
    """Redirects are not followed: one would send the prompt to whom it names."""
    client = anthropic.Anthropic(
        api_key=given["key"], base_url=given["base_url"] or "https://api.anthropic.com", max_retries=0,
        timeout=given["seconds"], http_client=anthropic.DefaultHttpxClient(follow_redirects=False),
    )  # fmt: skip
    stable = [{"type": "text", "text": given["stable"], "cache_control": {"type": "ephemeral"}}]
    asked = [*(stable if given["stable"] else ()), {"type": "text", "text": given["prompt"]}]
    create: Any = client.messages.create
    return create(
        model=given["model"],
        max_tokens=_MAX_TOKENS,
        system=given["system"],
        messages=[{"role": "user", "content": asked}],
    )


def _answer(message: Any) -> dict[str, Any]:
    """The SDK does not validate: `{}` gives a Message of None, HTML gives a text."""
    content = getattr(message, "content", None)
    blocks = content if isinstance(content, list) else []
    text = "".join(block.text for block in blocks if getattr(block, "type", "") == "text")
    usage = getattr(message, "usage", None)
    return {
        "text": text,
        "stop": getattr(message, "stop_reason", None),
        "given": sum(_number(getattr(usage, name, None)) for name in _USAGE),
        "answered": _number(getattr(usage, "output_tokens", None)),
    }


def _status(error: anthropic.APIStatusError) -> dict[str, Any]:
    status, message = error.status_code, str(error.message)[:300]
    kind = _KINDS.get(status, "server" if status >= 500 else "other")
    if status == 400 and "too long" in message.lower():
        kind = "too long"
    return {"kind": kind, "message": f"{status}: {message}", "retry_after": _seconds(error.response.headers)}


def _seconds(headers: Any) -> float | None:
    try:
        found = float(headers.get("retry-after"))
    except (TypeError, ValueError):
        return None
    return found if math.isfinite(found) else None


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0


if __name__ == "__main__":
    main()
