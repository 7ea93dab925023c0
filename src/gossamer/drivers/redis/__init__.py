"""Redis: connections, scripts, errors."""
