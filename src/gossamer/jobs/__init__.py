"""What is done with jobs from outside: submitted, paused, cancelled, forgotten."""
