"""The vocabulary: what projects, features and sessions are, with no I/O."""
