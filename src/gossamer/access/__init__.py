"""Access to the dashboard and the HTTP API: tokens, sessions, and permissions of requests."""
