"""Scrapy's names in our words."""
