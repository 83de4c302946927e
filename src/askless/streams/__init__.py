"""Streams of queries with their true labels, for the simulator."""
