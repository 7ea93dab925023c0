"""Shipped for tests, yours and ours: a shop, a misbehaving site, clocks, contract suites."""
