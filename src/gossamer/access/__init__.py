"""Who may use the dashboard and the HTTP API: tokens, signing in, and what each request may do."""
