"""Spiders of other frameworks, run as they are: one folder for each framework."""
