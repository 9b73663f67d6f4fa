"""What these tests need besides a home of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.store.agx.agx import Store


@pytest.fixture
def store(repo: Path) -> Store:
    """A repository without AGX yet."""
    return Store(repo)
