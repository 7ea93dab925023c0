"""Frontiers: which request may be fetched when, by whom. One file per kind of storage."""
