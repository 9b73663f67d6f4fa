"""AGX, the second store, whole: its documents, files, jobs, and which of them run when."""
