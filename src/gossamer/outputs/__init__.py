"""Places outside of the store to which items go as they change: files, buckets, databases."""
