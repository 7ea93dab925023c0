"""Connections to SQLite, Redis and PostgreSQL, a folder for each: errors in our words, schemas."""
