"""The views, each from what the daemon answers to HTML."""
