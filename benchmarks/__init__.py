"""The figures of the README, measured: `make bench`, or `python -m benchmarks.run`."""
