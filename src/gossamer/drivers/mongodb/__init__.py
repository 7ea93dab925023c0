"""MongoDB: connections, errors in words, and patience while the server is away."""
