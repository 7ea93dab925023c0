"""The checks of the read model's contract, by subject."""
