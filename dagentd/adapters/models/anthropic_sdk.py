"""The Anthropic API through its SDK, in a process of its own: importing it takes 1.6 s and 60 MB, and a call that hangs
can be killed."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dagentd.adapters.models import Answer, CallFailed, Question
from dagentd.adapters.models.model_process import run

_CHILD = Path(__file__).with_name("anthropic_child.py")


def ask(question: Question, key: str, base_url: str) -> Answer:
    given = {**asdict(question), "key": key, "base_url": base_url.rstrip("/").removesuffix("/v1")}  # which the SDK adds
    ended = run([sys.executable, "-I", str(_CHILD)], json.dumps(given).encode(), question.seconds)
    try:
        told = json.loads(ended.output)
    except ValueError:
        last = ended.errors.decode(errors="replace").strip().rpartition("\n")[2]
        raise CallFailed("lost", f"the process that calls the API ended with status {ended.status}: {last}") from None
    return _judged(told)


def _judged(told: dict[str, Any]) -> Answer:
    if (error := told.get("error")) is not None:
        raise CallFailed(error["kind"], error["message"], retry_after=error.get("retry_after"))
    used = {"given": told["given"], "answered": told["answered"]}
    stop, text = told["stop"], told["text"]
    if stop == "max_tokens":
        raise CallFailed("cut", "the answer was cut off: it was too long", **used)
    if stop == "refusal":
        raise CallFailed("refused", "the model refused to answer", **used)
    if stop == "model_context_window_exceeded":
        raise CallFailed("too long", "the prompt is too long for the model", **used)
    if not isinstance(text, str) or not text.strip():  # servers that only speak like the API give other reasons
        raise CallFailed("garbled", f"the API answered something else (stop reason {stop!a})", **used)
    return Answer(text, **used)
