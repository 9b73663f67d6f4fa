"""Values that others wrote, as text for a prompt: equal values give equal text, and none raises."""

from __future__ import annotations

import html
import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

from dagentd.model import times

# One prefix for every tag of ours, rare in real text: the `<Context>` or `<message>` of somebody's code
# reaches the agent as it is. Possessive, because a megabyte of blanks after "<" must not cost its square.
_TAG_OF_OURS = re.compile(r"<(?=[\s/]*+session-)", re.IGNORECASE)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# The seeds' commits, dependencies and items are objects in one document and texts in another.
_TELLING = ("id", "taskId", "hash", "name", "path", "title", "message", "text", "description", "status")


def fenced(text: str) -> str:
    """Text that can neither close the section it stands in nor open another."""
    return _TAG_OF_OURS.sub("&lt;", text)


def section(tag: str, /, *paragraphs: str, **attributes: str) -> str:
    """The paragraphs that are not empty between two tags, or nothing; they are fenced already."""
    filled = [paragraph for paragraph in paragraphs if paragraph]
    if not filled:
        return ""
    return "\n".join([opening(tag, **attributes), *filled, f"</session-{tag}>"])


def opening(tag: str, /, **attributes: str) -> str:
    flat = {key: html.escape(" ".join(value.split())) for key, value in attributes.items() if value}
    shown = "".join(f' {key}="{value}"' for key, value in flat.items())
    return f"<session-{tag}{shown}>"


def body(value: Any) -> str:
    """A text of several lines, such as a file; a list is one line each."""
    if isinstance(value, list):
        return "\n".join(entries(value))
    return fenced(value.strip("\r\n")) if isinstance(value, str) and value.strip() else ""


def line(value: Any) -> str:
    """One entry of a list or one field; its further lines are indented and so cannot pass for the next."""
    if isinstance(value, dict):
        value = " - ".join(filter(None, (_scalar(value.get(key)) for key in _TELLING)))
    return fenced("\n  ".join(_scalar(value).splitlines()))


def entries(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [text for text in map(line, values) if text]


def field(label: str, value: Any) -> str:
    text = line(value)
    return f"{label}: {text}" if text else ""


def bullets(heading: str, value: Any) -> str:
    texts = entries(value)
    return "\n".join([f"{heading}:", *(f"- {text}" for text in texts)]) if texts else ""


def moment(value: Any) -> str:
    """A timestamp as ISO 8601 in UTC (a number is Unix milliseconds), or nothing."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return times.iso(_EPOCH + timedelta(milliseconds=value))
        parsed = times.parse(value)
        return times.iso(parsed) if parsed else ""
    except (OverflowError, ValueError):  # NaN, and moments before year 1 or after 9999
        return ""


def json_text(value: Any) -> str:
    """Keys sorted: another writer's order of keys must not cost the prompt cache."""
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True)
    except (RecursionError, ValueError):  # nested as deep as json reads it; an integer of over 4300 digits
        return "[a value that cannot be shown]"


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return value.strip()
    return json_text(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""
