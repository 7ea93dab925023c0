"""Spiders that are written in TOML: what may be said, how it is read, and the spider that it makes."""
