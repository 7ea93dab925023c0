"""The frontier in the SQLite file."""
