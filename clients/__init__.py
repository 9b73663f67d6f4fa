"""Clients of dagentd's socket for other programs, and what generates them from the table of methods."""
