"""Where items, pages and the ledger are kept, and how they are given out again."""
