"""Files: every way in which dagentd reads, writes, locks and keeps them."""
