"""Tests of the running daemon's parts."""
