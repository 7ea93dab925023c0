"""Queries about jobs, pages and hosts, shared by command line, dashboard and API."""
