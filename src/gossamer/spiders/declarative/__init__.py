"""Spiders written in TOML: the document, its reader, and the resulting spider."""
