"""Text to unit vectors: one embedder a file, found by name in `named`; a cache on disk, and a run in blocks."""
