"""The misbehaviours of the bad site, by subject; importing a module registers its routes."""
