"""Alert destinations."""
