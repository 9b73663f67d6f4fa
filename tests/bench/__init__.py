"""Measurements, each beside what this machine can do, measured in the same run."""
