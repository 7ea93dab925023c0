"""Large pages are parsed in a process of their own, within limits."""
