"""What a crawl was asked for: a spider or a URL, its arguments, its settings."""
