"""The only room that names concrete classes: from settings and a target to the parts of a crawl."""
