"""What a check finds: the id of its kind, and the words."""

from __future__ import annotations

from collections.abc import Iterator

from dagentd.errors import DagentdError

Finding = tuple[str, DagentdError]
Findings = Iterator[Finding]
