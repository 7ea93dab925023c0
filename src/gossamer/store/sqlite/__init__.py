"""Jobs, results and the ledger in the SQLite file."""
