"""Services of the system and the event loop: time, locks, sorting in files, a guard around users' code."""
