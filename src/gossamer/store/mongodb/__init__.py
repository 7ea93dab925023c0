"""Jobs, items, pages, the ledger, tokens and the audit log in MongoDB."""
