"""`python -m dagentd.mcp`: serve the agent that started it, until it closes standard input."""

from __future__ import annotations

import os
import sys

from dagentd.mcp.server import serve


def main() -> None:
    try:
        for answer in serve(sys.stdin.buffer):
            sys.stdout.buffer.write(answer)
            sys.stdout.buffer.flush()
    except (BrokenPipeError, KeyboardInterrupt):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what the end of the process would still write


if __name__ == "__main__":
    main()
