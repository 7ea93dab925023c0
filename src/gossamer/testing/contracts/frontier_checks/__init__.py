"""The checks of the frontier contract, in rooms."""
