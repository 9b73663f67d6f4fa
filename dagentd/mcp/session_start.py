"""`python -P -m dagentd.mcp.session_start AGENT`: what a conversation is told when it begins or goes on.

A hook of the agent runs it and waits: with what it has on standard input, for 0.3 s with all that is started, and
whatever is wrong, the agent goes on as if there were no dagentd."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import Any

_PATIENCE = 0.27  # seconds since this process began: on a busy machine Python itself takes much of them
_LEAST = 0.001  # of 0 the timer would never end
_ASKED = {"session_id": "sessionId", "cwd": "cwd", "source": "source", "transcript_path": "transcriptPath"}


def main() -> None:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # the system ends us, also in the middle of loading something
    signal.setitimer(signal.ITIMER_REAL, max(_LEAST, _PATIENCE - _age()))
    if told := _told(sys.argv[1], sys.stdin.buffer.read()):
        answer = {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": told}}
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.stdout.buffer.write(json.dumps(answer).encode())


def _age() -> float:
    """Of this process in seconds, to a hundredth; where there is no /proc, what is usual."""
    try:
        with open("/proc/self/stat", "rb") as file:
            began = int(file.read().rpartition(b")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
        return time.clock_gettime(time.CLOCK_BOOTTIME) - began
    except (OSError, IndexError, ValueError, AttributeError):
        return 0.05


def _told(agent: str, given: bytes) -> str:
    from dagentd.errors import DagentdError
    from dagentd.rpc.client import Client

    try:
        asked = _asked(dict(json.loads(given)))
        with Client(timeout=_PATIENCE) as daemon:
            answer = daemon.call("agents.sessionStart", agent=agent, **asked)
        return str(answer["text"] or "")
    except (DagentdError, OSError, ValueError, KeyError, TypeError):
        return ""


def _asked(given: dict[str, Any]) -> dict[str, str]:
    return {ours: str(given[name]) for name, ours in _ASKED.items() if given.get(name)}


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # without what Python clears away at its end
