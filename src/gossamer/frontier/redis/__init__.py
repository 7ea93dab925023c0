"""The frontier in Redis, on one server or many shards."""
