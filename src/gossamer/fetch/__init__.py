"""Ways to get a page, a folder or file each, and what they share: address guard, resolver, sessions."""
