"""The base classes of spiders, and the responses that their callbacks get."""
