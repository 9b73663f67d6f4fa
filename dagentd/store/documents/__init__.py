"""The documents behind a journal: read when others wrote them, merged, written behind commits."""
