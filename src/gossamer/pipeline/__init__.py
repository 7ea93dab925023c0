"""What happens to an item between the spider and the store."""
