"""The target of a crawl: a spider or a URL, its arguments, its settings."""
