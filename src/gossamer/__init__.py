"""Gossamer: crawl and scrape the web, from one file on a laptop to a fleet of workers."""

__version__ = "0.1.0"
