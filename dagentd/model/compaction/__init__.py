"""The vocabulary of compaction, with no I/O: items of a checkpoint, operations on them, messages as it sees them."""
