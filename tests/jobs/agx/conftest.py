"""What these tests need besides a home of their own: AGX in a repository, and a tmux server of the test alone."""

from tests.jobs.agx.tmux import server as server
from tests.store.agx.conftest import store as store
