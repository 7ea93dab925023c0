"""The rung ``browser``: pages as a browser shows them."""
