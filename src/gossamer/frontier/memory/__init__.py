"""The frontier in the memory of one process."""
