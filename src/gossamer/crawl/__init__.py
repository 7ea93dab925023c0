"""A crawl from its start to its summary, in one process or several."""
