"""Sinks for events: the log, the progress view."""
