"""The running daemon: its projects, what it watches, maintains, compacts, and how it is."""
