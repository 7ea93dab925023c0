"""Watching jobs while they run: their pace and its limits, and alerts about problems."""
