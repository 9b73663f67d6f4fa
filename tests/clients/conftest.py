"""What these tests need besides a home of their own."""

from tests.e2e.daemon import beats as beats
from tests.e2e.daemon import daemon as daemon
