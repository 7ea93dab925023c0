"""The one SQLite file of an embedded crawl: its writer thread, its transactions, its schema version."""
