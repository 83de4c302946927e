"""The dashboard: what the desk saves, and how far to trust it."""
