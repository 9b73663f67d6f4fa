"""A stand-in for the `claude` command line: writes down how it was called and answers as `claude -p` does.

Its answers have the fields that version 2.1.325 printed when it was run against a local server; what it is to say lies
in a file beside it, because those who call it clear its environment."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SCRIPT = r"""#!{python} -I
import json, os, subprocess, sys, time
here = os.path.dirname(os.path.realpath(__file__))
stdin = sys.stdin.read()
plan = json.load(open(os.path.join(here, "plan.json")))
number = 0
while True:
    try:
        os.mkdir(os.path.join(here, f"call-{{number}}"))
        break
    except FileExistsError:
        number += 1
answer = plan[min(number, len(plan) - 1)]
child = None
if answer.get("hangs"):
    child = subprocess.Popen([sys.executable, "-I", "-c", "import time; time.sleep(600)"])
told = {{"argv": sys.argv[1:], "stdin": stdin, "environ": dict(os.environ), "cwd": os.getcwd()}}
told |= {{"pid": os.getpid(), "child": child and child.pid}}
record = os.path.join(here, f"call-{{number}}", "told")
with open(record, "w") as file:
    json.dump(told, file)
os.rename(record, record + ".json")
if child:
    child.wait()
sys.stdout.write(answer["stdout"])
sys.stderr.write(answer["stderr"])
sys.exit(answer["exit"])
"""

Said = dict[str, Any]


@dataclass(frozen=True)
class Called:
    """One run of it, as it saw itself; `child` is the process that it started, if it hangs."""

    argv: list[str]
    stdin: str
    environ: dict[str, str]
    cwd: str
    pid: int
    child: int | None


class StandIn:
    """Made in a folder of its own; the last answer is given again and again."""

    def __init__(self, folder: Path, answers: Iterable[Said]) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "claude"
        self.path.write_text(_SCRIPT.format(python=sys.executable))
        self.path.chmod(0o755)
        (folder / "plan.json").write_text(json.dumps(list(answers)))

    def calls(self) -> list[Called]:
        """Those whose standard input it has read."""
        files = sorted(self._folder.glob("call-*/told.json"), key=lambda path: int(path.parent.name[5:]))
        return [Called(**json.loads(file.read_text())) for file in files]


def structured(output: Any, **usage: int) -> Said:
    """Success: the answer by the schema, and the same as text in `result`."""
    found = {"structured_output": output, "stop_reason": "tool_use", "num_turns": 2}
    return _printed(json.dumps(output), usage, **found)


def spoken(text: str, **usage: int) -> Said:
    """Success by its own account, but the model did not keep to the schema: there is only `result`."""
    return _printed(text, usage)


def failed(status: int | None, text: str, reason: str = "api_error") -> Said:
    """An error of the API, of which `subtype` says success."""
    fields = {"is_error": True, "api_error_status": status, "terminal_reason": reason, "stop_reason": "stop_sequence"}
    return _printed(text, {"input_tokens": 0, "output_tokens": 0}, **fields) | {"exit": 1}


def crashed(exit: int, stderr: str) -> Said:
    return {"stdout": "", "stderr": stderr, "exit": exit}


def garbage(text: str) -> Said:
    return {"stdout": text, "stderr": "", "exit": 0}


def hanging() -> Said:
    """Waits for a child of its own for ten minutes, after it has written down the call."""
    return {"stdout": "", "stderr": "", "exit": 0, "hangs": True}


def _printed(result: str, usage: dict[str, int], **fields: Any) -> Said:
    whole = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "api_error_status": None,
        "terminal_reason": "completed",
        "stop_reason": "end_turn",
        "num_turns": 1,
        "result": result,
        "session_id": "29cf4e08-7b70-429a-8703-6991dd245a09",
        "total_cost_usd": 0.00016,
        "usage": {"input_tokens": 1200, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
        | {"output_tokens": 80}
        | usage,
        "duration_ms": 117,
    }
    return {"stdout": json.dumps(whole | fields) + "\n", "stderr": "", "exit": 0}


TOO_LONG = failed(400, "Prompt is too long · the request is ~1204313 tokens (limit 1000000)", "prompt_too_long")
UNAUTHORIZED = failed(401, "Invalid API key · Fix external API key")
NOT_LOGGED_IN = failed(None, "Not logged in · Please run /login")
NO_MODEL = failed(404, "There's an issue with the selected model (claude-haiku-5-5). It may not exist.")
RATE_LIMITED = failed(429, "API Error: Request rejected (429) · Number of requests has exceeded your limit")
OVERLOADED = failed(529, "API Error: 529 Overloaded. This is a server-side issue, usually temporary.")
