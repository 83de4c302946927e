"""Text to unit vectors: one embedder a file."""
