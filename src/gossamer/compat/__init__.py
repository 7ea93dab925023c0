"""Support for spiders of other frameworks."""
