"""Frontiers: which request may be fetched when, and by whom. A folder for each kind of storage."""
