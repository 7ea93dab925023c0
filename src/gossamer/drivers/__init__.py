"""Connections to servers: one file per vendor."""
