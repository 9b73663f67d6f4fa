"""The daemon that is asked."""

from __future__ import annotations

from tests.e2e.daemon import daemon as daemon
