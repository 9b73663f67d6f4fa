"""Conversations of other programs, Claude Code and Codex: found, kept and read as sessions."""
