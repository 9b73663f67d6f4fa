"""Adapters to what lies outside dagentd, as files, git, models, watching: one outside thing in each file."""
