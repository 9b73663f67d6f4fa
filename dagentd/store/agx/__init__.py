"""AGX on disk: the sessions of a project, their trash and backups, the global index; the only code that writes them."""
