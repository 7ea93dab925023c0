"""What the operating system and the event loop give: time, locks, a guard around users' code."""
