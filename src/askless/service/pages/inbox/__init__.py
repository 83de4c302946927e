"""The inbox: one question at a time."""
