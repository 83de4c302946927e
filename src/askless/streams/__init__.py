"""Streams of queries with their true labels, for the simulator.

A sampler draws queries (`sampling`: uniform, mixture, drift) and a partition labels them (`partitions`: Voronoi,
HalfSpaces), as in `partition.stream(queries)`. `synthetic` makes the paper's streams in one call, and `bisection`
is its adversary in dimension one.
"""
