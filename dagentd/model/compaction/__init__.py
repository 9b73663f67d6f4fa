"""What compaction is about, with no I/O: items of a checkpoint, operations on them, messages as it sees them."""
