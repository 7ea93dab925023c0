"""Scrapy's own spiders, unchanged: Scrapy's classes do their part, Gossamer fetches, schedules and stores.

Loaded only when a file that imports Scrapy is to be crawled, or a folder with a ``scrapy.cfg``.
"""
