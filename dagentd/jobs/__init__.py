"""The jobs of the daemon: each plans (pure), then applies."""
