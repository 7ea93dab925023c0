"""The spiders; each file is one subject."""
