"""The queue: all that waits, and answers to many at once."""
