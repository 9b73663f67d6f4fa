"""Tells a conversation that begins or goes on what the daemon has for it: a file that the agent's hook runs.

The agent waits, for 0.3 s with all that is started; whatever is wrong, it goes on as if there were no dagentd. This
loads next to nothing: beside 16 busy processes on two processors, one that needs 34 ms of processor ends after 1.1 s,
and one that needs 9 ms after 15 ms. So what the agent says, and what the daemon says, is passed on as the JSON that it
is."""

import _signal  # type: ignore[import-not-found]  # signal and socket make enums of all their numbers: 8 ms
import _socket
import os
import sys
import time

_PATIENCE = 0.27  # seconds since this process began: on a busy machine Python itself takes much of them
_LEAST = 0.001  # of 0 the timer would never end
_MOST = 1 << 20  # bytes of an answer
_ASKED = b'{"jsonrpc":"2.0","id":1,"method":"agents.sessionStart","params":{"agent":"%s",%s\n'
_SAID = b'{"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": %s}}'


def main() -> None:
    _signal.signal(_signal.SIGALRM, _signal.SIG_DFL)  # the system ends us, also in the middle of loading something
    _signal.setitimer(_signal.ITIMER_REAL, max(_LEAST, _PATIENCE - _age()))
    given = sys.stdin.buffer.read().replace(b"\n", b" ").strip()
    try:
        answer = _asked(_ASKED % (os.fsencode(sys.argv[1]), given[1:] + b"}"))
    except OSError:
        return
    before, _, after = answer.partition(b'"text"')
    text = after.lstrip(b": ").rpartition(b'"}')[0] + b'"'
    if b'"result"' in before and text.startswith(b'"') and len(text) > len(b'""'):
        _signal.setitimer(_signal.ITIMER_REAL, 0)
        sys.stdout.buffer.write(_SAID % text)


def _age() -> float:
    """Of this process in seconds, to a hundredth; where there is no /proc, what is usual."""
    try:
        with open("/proc/self/stat", "rb") as file:
            began = int(file.read().rpartition(b")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
        return time.clock_gettime(time.CLOCK_BOOTTIME) - began
    except (OSError, IndexError, ValueError, AttributeError):
        return 0.05


def _asked(request: bytes) -> bytes:
    """The line that the daemon answers; nothing where another user's process is in its place."""
    from dagentd import socket_path

    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    connection.connect(socket_path.find())
    if _peer(connection) != os.geteuid():
        return b""
    connection.send(request)
    answer = b""
    while not answer.endswith(b"\n") and len(answer) < _MOST and (more := connection.recv(1 << 16)):
        answer += more
    return answer


def _peer(connection: _socket.socket) -> int:
    """The user at the other end, who is named second on Linux and on macOS."""
    asked = (_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12) if sys.platform == "linux" else (0, 1, 8)
    return int.from_bytes(connection.getsockopt(*asked)[4:8], sys.byteorder)


if __name__ == "__main__":
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    main()
    sys.stdout.flush()
    os._exit(0)  # without what Python clears away at its end
