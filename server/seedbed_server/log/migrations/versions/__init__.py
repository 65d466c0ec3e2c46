"""The schemas of the log, oldest first. A released revision is never edited."""
