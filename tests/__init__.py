"""The tests: the same tree as dagentd, with real git and real files."""
