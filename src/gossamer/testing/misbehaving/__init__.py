"""The misbehaviours of the bad site, by subject; importing a file registers what it has."""
