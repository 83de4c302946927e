"""The map: examples and hulls in a plane."""
