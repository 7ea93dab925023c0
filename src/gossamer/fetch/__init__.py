"""Ways to fetch a page, one folder or file each, and their shared parts: address guard, resolver,
sessions."""
