"""The choice of a way to fetch for each request."""
