"""The doctor: what can be wrong, how each is found out, and what mends it without losing anything."""
