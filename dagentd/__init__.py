"""dagentd keeps the session files of AI coding agents right."""

__version__ = "0.1.0"
