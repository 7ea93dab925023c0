"""The moving parts: worker, supervisor, seeding. Adapters meet here, and only through ports."""
