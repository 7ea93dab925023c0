"""Facts that the workers of a job share beside the requests: robots.txt, cookies, trusted hosts."""
