"""Answers of sites as WARC files: written beside a crawl, found again by an index, and read."""
