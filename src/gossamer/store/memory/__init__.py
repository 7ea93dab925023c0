"""Jobs and results in the memory of one process."""
