"""The checks of the read model's contract, by what is asked about."""
