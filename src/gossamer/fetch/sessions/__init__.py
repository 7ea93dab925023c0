"""Cookies, and who shares them."""
