"""Foreign shapes of documents and how they become ours: pure functions, one file per shape."""
