"""The routes of the API, one file for each subject; how to add one is in ``gossamer.web``."""
