"""The local page: what agents did, read and searched in a browser of the same user, and undone there."""
