"""Writes what is generated in `clients/python` and `clients/typescript`: python -m clients.generate"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from clients import python_code, typescript_code
from dagentd.rpc.discovery import openrpc_document

_HERE = Path(__file__).parent


def files() -> dict[Path, str]:
    """Each file that is generated, as it should be."""
    described = openrpc_document()
    package, source = _HERE / "python" / "dagentd_client", _HERE / "typescript" / "src"
    return {
        package / "types.py": _formatted(python_code.types(described)),
        package / "client.py": _formatted(python_code.client(described)),
        source / "types.ts": typescript_code.types(described),
        source / "client.ts": typescript_code.client(described),
    }


def _formatted(code: str) -> str:
    """As the rest of the repository is."""
    command = [sys.executable, "-m", "ruff", "format", "--config", "line-length = 120", "-"]
    return subprocess.run(command, input=code, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")
