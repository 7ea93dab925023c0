"""The checks of the roster contract, by what they are about."""
