"""One crawl in several processes of one machine, on one frontier."""
