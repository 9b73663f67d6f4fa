"""Where things lie in a project: trees, features, sessions, links, legacy files, and which folders are watched."""
