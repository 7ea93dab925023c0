"""What the engine needs of the world, a seam a file. Adapters of a port stand in folders of their own."""
