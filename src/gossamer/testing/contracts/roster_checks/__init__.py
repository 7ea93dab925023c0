"""The checks of the roster contract, by subject."""
