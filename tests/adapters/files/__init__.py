"""Tests of how files are read, written, locked and kept."""
