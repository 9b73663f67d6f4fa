"""Sessions: opened, made, read, changed, reconciled, removed."""
