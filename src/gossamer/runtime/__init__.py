"""What the system and the event loop give: time, locks, sorting in files, a guard around users' code."""
