"""Spiders that use what Scrapy's tutorial and documentation show, and the sites they crawl."""
