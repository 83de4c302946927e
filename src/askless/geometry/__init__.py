"""Distances to hulls, certified; the store of examples; the nearest-two search."""
