"""Named bytes in a folder or in a bucket, for archives, exports and outputs."""
