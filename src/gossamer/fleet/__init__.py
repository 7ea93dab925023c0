"""The supervisor of a fleet: which jobs need which shifts, and when a job is over."""
