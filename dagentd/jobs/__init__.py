"""What the daemon does: each job plans (pure), then applies."""
