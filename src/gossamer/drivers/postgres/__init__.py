"""PostgreSQL: connections, errors, the schema's versions."""
