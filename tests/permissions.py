"""Files and folders that may not be used, also for root."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def ordinary() -> Iterator[None]:
    """Let permissions count: for root, without the capabilities that pass them by."""
    if os.getuid() != 0:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header, data = ctypes.create_string_buffer(struct.pack("Ii", 0x20080522, 0)), ctypes.create_string_buffer(24)
    if not hasattr(libc, "capset") or libc.capget(header, data) != 0:
        pytest.skip("root whose capabilities cannot be lowered: permissions do not bind")
    held = data.raw[:24]
    effective, *rest = struct.unpack("6I", held)
    lowered = struct.pack("6I", effective & ~0b1110, *rest)  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER
    assert libc.capset(header, ctypes.create_string_buffer(lowered, 24)) == 0
    try:
        yield
    finally:
        assert libc.capset(header, ctypes.create_string_buffer(held, 24)) == 0


@contextmanager
def mode(path: Path, bits: int) -> Iterator[None]:
    before = path.stat().st_mode & 0o7777
    path.chmod(bits)
    try:
        with ordinary():
            yield
    finally:
        path.chmod(before)
