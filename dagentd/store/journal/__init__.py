"""The journal: records, what they add up to, how a session's journal is opened, appended, repaired and kept."""
