"""Where sessions live: the only code that writes under .dagent."""
