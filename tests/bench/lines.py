"""A client that costs nothing: one line out, one line in."""

from __future__ import annotations

import socket
from pathlib import Path


class Line:
    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.connect(str(path))

    def __enter__(self) -> Line:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def ask(self, line: bytes) -> bytes:
        self._socket.sendall(line)
        chunks = [self._socket.recv(1 << 20)]
        while not chunks[-1].endswith(b"\n"):
            chunks.append(self._socket.recv(1 << 20))
        return b"".join(chunks)
