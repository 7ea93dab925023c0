"""Jobs, results and the ledger in PostgreSQL."""
