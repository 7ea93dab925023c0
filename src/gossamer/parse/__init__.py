"""Bytes in, structure out: text, links, selectors. Everything here is hostile input."""
